# Sets an installed sandbox up for one attempt, as C:\ProgramData\ExamHall\sandbox.json says. Safe to repeat. What it writes counts
# from the next boot on: Windows logs the agent on at boot only, and sysprep wipes autologon, so this belongs to the first boot.
# Unverified: no Windows machine has run it.
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 2

. "$PSScriptRoot\layout.ps1"
. "$PSScriptRoot\tools.ps1"
. "$PSScriptRoot\account.ps1"
$settings = Get-Content -Raw -LiteralPath "$state\sandbox.json" | ConvertFrom-Json
if ($settings.privilege -notin @('upstream', 'restricted')) { throw "privilege is '$($settings.privilege)'; it is upstream or restricted" }
if ($settings.resolution -notmatch '^[1-9]\d{1,4}x[1-9]\d{1,4}$') { throw "resolution is '$($settings.resolution)', not <width>x<height>" }
$isRestricted = $settings.privilege -eq 'restricted'
New-Agent
Add-AgentFolders
Add-AgentNode
$sid = (Get-LocalUser -Name $agent).SID.Value
# A stop shuts both for good.
Enable-LocalUser -Name $agent
Remove-Item -Force -LiteralPath "$state\spool\closed" -ErrorAction SilentlyContinue
Invoke-Program 'icacls.exe' @("$state\sandbox.json", '/grant', "*${sid}:R")

# New for each machine.
$password = New-Password
Set-LocalUser -Name $agent -Password (ConvertTo-SecureString -AsPlainText -Force -String $password) -PasswordNeverExpires $true

$logon = 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Winlogon'
Set-ItemProperty -Path $logon -Name AutoAdminLogon -Value '1' -Type String
Set-ItemProperty -Path $logon -Name ForceAutoLogon -Value '1' -Type String
Set-ItemProperty -Path $logon -Name DefaultUserName -Value $agent -Type String
# A dot rather than the computer's name, which the first boot may still change.
Set-ItemProperty -Path $logon -Name DefaultDomainName -Value '.' -Type String
# The agent can read it there: Windows logs nobody on at boot without it. It opens this account on this machine and nothing else.
Set-ItemProperty -Path $logon -Name DefaultPassword -Value $password -Type String
Remove-ItemProperty -Path $logon -Name @('AutoLogonCount', 'AutoLogonSID') -ErrorAction SilentlyContinue

$administrators = Get-LocalGroup -SID 'S-1-5-32-544'
$rule = 'ExamHall-Metadata'
Remove-NetFirewallRule -Name $rule -ErrorAction SilentlyContinue
if ($isRestricted) {
    foreach ($group in @(Get-LocalGroup | Where-Object { $_.SID.Value -ne 'S-1-5-32-545' })) {
        Remove-LocalGroupMember -Group $group -Member $agent -ErrorAction SilentlyContinue
    }
    New-NetFirewallRule -Name $rule -DisplayName 'Exam Hall: no metadata for the agent' -Direction Outbound -Action Block -Profile Any `
        -RemoteAddress @('169.254.169.254', 'fd00:ec2::254') -LocalUser "D:(A;;CC;;;$sid)" | Out-Null
} else {
    Add-LocalGroupMember -Group $administrators -Member $agent -ErrorAction SilentlyContinue
}
Set-NetFirewallProfile -Profile @('Domain', 'Public', 'Private') -Enabled True
Remove-NetFirewallRule -Name 'ExamHall-Cua' -ErrorAction SilentlyContinue
New-NetFirewallRule -Name 'ExamHall-Cua' -DisplayName 'Exam Hall: cua-server' -Direction Inbound -Action Allow -Profile Any -Protocol TCP -LocalPort 5000 | Out-Null

# In the console session, which services never see: that needs a logon task of type Interactive. Of normal priority (4), which all that
# an agent starts has from them; tasks have a lower one if nobody says.
function Register-LogonTask([string]$name, [string]$script) {
    $shell = 'C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe'
    $arguments = "-NoProfile -NonInteractive -ExecutionPolicy Bypass -WindowStyle Hidden -File $target\windows\$script"
    $action = New-ScheduledTaskAction -Execute $shell -Argument $arguments -WorkingDirectory "C:\Users\$agent"
    $trigger = New-ScheduledTaskTrigger -AtLogOn -User $sid
    $level = if ($isRestricted) { 'Limited' } else { 'Highest' }
    $principal = New-ScheduledTaskPrincipal -UserId $sid -LogonType Interactive -RunLevel $level
    $options = New-ScheduledTaskSettingsSet -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries -MultipleInstances IgnoreNew -Priority 4 `
        -RestartCount 255 -RestartInterval (New-TimeSpan -Minutes 1) -ExecutionTimeLimit (New-TimeSpan -Days 365)
    Register-ScheduledTask -TaskName $name -Action $action -Trigger $trigger -Principal $principal -Settings $options -Force | Out-Null
}

Register-LogonTask 'ExamHall-Desktop' 'logon-desktop.ps1'
Register-LogonTask 'ExamHall-Session' 'logon-session.ps1'
Write-Output 'examhall-configure: done; restart to log the agent on'
