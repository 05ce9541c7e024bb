# Turns Windows Server 2022 or later (Desktop Experience) into an Exam Hall sandbox. Run elevated, from the unpacked boot
# archive, by the first boot of a public image or by Image Builder. Safe to repeat; what is there already is left alone.
# Unverified: no Windows machine has run it.
param(
    # Runner, bridge and scripts only, for an image that has the rest.
    [switch]$FilesOnly
)
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
Set-StrictMode -Version 2
[Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12

$archive = Split-Path -Parent $PSScriptRoot
$system = '*S-1-5-18:(OI)(CI)F'
$administrators = '*S-1-5-32-544:(OI)(CI)F'
$users = '*S-1-5-32-545:(OI)(CI)RX'
. "$PSScriptRoot\layout.ps1"
. "$PSScriptRoot\pins.ps1"

function Write-Step([string]$text) { Write-Output "examhall-install: $text" }

function Invoke-Program([string]$program, [string[]]$arguments, [int[]]$allowed = @(0)) {
    & $program @arguments | Out-Null
    if ($LASTEXITCODE -notin $allowed) { throw "$program ended with $LASTEXITCODE" }
}

function Get-Pinned([string]$url, [string]$sha256, [string]$file) {
    for ($try = 1; ; $try++) {
        try {
            Invoke-WebRequest -UseBasicParsing -Uri $url -OutFile $file -TimeoutSec 900
            break
        } catch {
            if ($try -ge 8) { throw }
            Start-Sleep -Seconds (3 * $try)
        }
    }
    $seen = (Get-FileHash -LiteralPath $file -Algorithm SHA256).Hash
    if ($seen -ne $sha256) { throw "$url has the SHA-256 $seen instead of $sha256" }
}

function Set-Value([string]$key, [string]$name, $value, [string]$type = 'DWord') {
    if (-not (Test-Path $key)) { New-Item -Path $key -Force | Out-Null }
    New-ItemProperty -Path $key -Name $name -Value $value -PropertyType $type -Force | Out-Null
}

function Install-Files {
    Write-Step 'files'
    foreach ($folder in @($target, "$target\windows", $state, "$state\jobs", "$state\spool")) {
        New-Item -ItemType Directory -Force -Path $folder | Out-Null
    }
    Invoke-Program 'icacls.exe' @($target, '/inheritance:r', '/grant:r', $system, $administrators, $users)
    # Jobs, their results and the runner's key are SYSTEM's: the agent neither reads nor writes them. Requests to its session it
    # reads, and may do so below a folder that it cannot list.
    Invoke-Program 'icacls.exe' @($state, '/inheritance:r', '/grant:r', $system, $administrators)
    Invoke-Program 'icacls.exe' @("$state\jobs", '/inheritance:r', '/grant:r', $system, $administrators)
    Invoke-Program 'icacls.exe' @("$state\spool", '/inheritance:r', '/grant:r', $system, $administrators, $users)
    Copy-Item -Force -LiteralPath "$archive\runner.mjs", "$archive\cua-desktop.mjs" -Destination $target
    Copy-Item -Force -Path "$PSScriptRoot\*" -Destination "$target\windows"
}

# Before anything else: updates take the processor now, and restart the machine under an agent later.
function Stop-Updates {
    Write-Step 'automatic updates off'
    $policy = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate\AU'
    Set-Value $policy 'NoAutoUpdate' 1
    Set-Value $policy 'NoAutoRebootWithLoggedOnUsers' 1
    foreach ($service in @('wuauserv', 'UsoSvc')) {
        Stop-Service -Name $service -Force -ErrorAction SilentlyContinue
        Set-Service -Name $service -StartupType Disabled -ErrorAction SilentlyContinue
    }
    Set-Value 'HKLM:\SOFTWARE\Policies\Microsoft\EdgeUpdate' 'UpdateDefault' 0
}

# No lock, no sleep, no questions: nothing may stand between the agent and its desktop.
function Stop-Interruptions {
    Write-Step 'lock screen, sleep and first-use pages off'
    Set-Value 'HKLM:\SOFTWARE\Policies\Microsoft\Windows\Personalization' 'NoLockScreen' 1
    $policy = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Policies\System'
    Set-Value $policy 'InactivityTimeoutSecs' 0
    Set-Value $policy 'DisableLockWorkstation' 1
    Set-Value $policy 'DisableCAD' 1
    Set-Value $policy 'legalnoticecaption' '' 'String'
    Set-Value $policy 'legalnoticetext' '' 'String'
    Set-Value $policy 'EnableFirstLogonAnimation' 0
    # An administrator is asked for nothing, and never on a desktop of its own, which cannot be driven.
    Set-Value $policy 'ConsentPromptBehaviorAdmin' 0
    Set-Value $policy 'PromptOnSecureDesktop' 0
    Set-Value 'HKLM:\SOFTWARE\Policies\Microsoft\Windows\OOBE' 'DisablePrivacyExperience' 1
    Set-Value 'HKLM:\SOFTWARE\Microsoft\ServerManager' 'DoNotOpenServerManagerAtLogon' 1
    New-Item -Force -Path 'HKLM:\SYSTEM\CurrentControlSet\Control\Network\NewNetworkWindowOff' | Out-Null
    Set-Value 'HKLM:\SYSTEM\CurrentControlSet\Control\Windows' 'ErrorMode' 2
    Set-Value 'HKLM:\SOFTWARE\Microsoft\Windows\Windows Error Reporting' 'DontShowUI' 1
    Set-Value 'HKLM:\SOFTWARE\Policies\Microsoft\Edge' 'HideFirstRunExperience' 1
    foreach ($what in @('monitor-timeout-ac', 'standby-timeout-ac', 'hibernate-timeout-ac', 'disk-timeout-ac')) {
        Invoke-Program 'powercfg.exe' @('/change', $what, '0')
    }
}

# The profile must be there before anything lies in its folder, or Windows names the folder differently.
function New-Agent {
    Write-Step "account $agent"
    $password = ConvertTo-SecureString -AsPlainText -Force -String (New-Password)
    if ($null -eq (Get-LocalUser -Name $agent -ErrorAction SilentlyContinue)) {
        New-LocalUser -Name $agent -Password $password -PasswordNeverExpires -UserMayNotChangePassword -AccountNeverExpires | Out-Null
    }
    $group = Get-LocalGroup -SID 'S-1-5-32-545'
    Add-LocalGroupMember -Group $group -Member $agent -ErrorAction SilentlyContinue
    $sid = (Get-LocalUser -Name $agent).SID.Value
    if (-not (Test-Path "HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion\ProfileList\$sid")) {
        Add-Type -Namespace ExamHall -Name Profiles -MemberDefinition @'
[DllImport("userenv.dll", CharSet = CharSet.Unicode)]
public static extern int CreateProfile(string sid, string name, System.Text.StringBuilder path, uint length);
'@
        $path = New-Object System.Text.StringBuilder 260
        $code = [ExamHall.Profiles]::CreateProfile($sid, $agent, $path, 260)
        if ($code -ne 0) { throw "CreateProfile ended with $code" }
    }
    if (-not (Test-Path "C:\Users\$agent")) { throw "the profile of $agent does not lie in C:\Users\$agent" }
    foreach ($folder in @("C:\Users\$agent\.ale", "C:\Users\$agent\cua_mcp_server", 'C:\examhall-data', 'C:\examhall-data\agenthle')) {
        New-Item -ItemType Directory -Force -Path $folder | Out-Null
        Invoke-Program 'icacls.exe' @($folder, '/grant', "*${sid}:(OI)(CI)F")
    }
    # Image families have task data on E:. Where there is no such disk it is a folder of C:, from the next boot on.
    if (-not (Test-Path 'E:\')) {
        Set-Value 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\DOS Devices' 'E:' '\??\C:\examhall-data' 'String'
    } else {
        New-Item -ItemType Directory -Force -Path 'E:\agenthle' | Out-Null
        Invoke-Program 'icacls.exe' @('E:\agenthle', '/grant', "*${sid}:(OI)(CI)F")
    }
}

function Expand-Into([string]$file, [string]$folder) {
    if (Test-Path $folder) { Remove-Item -Recurse -Force -LiteralPath $folder }
    New-Item -ItemType Directory -Force -Path $folder | Out-Null
    Invoke-Program 'C:\Windows\System32\tar.exe' @('-xf', $file, '-C', $folder)
}

# Ours for the runner, and one where image families have it for agents.
function Install-Node {
    $forAgents = "C:\Users\$agent\node-v$NodeVersion-win-x64"
    if (-not (Test-Path "$target\node\node.exe")) {
        Write-Step "Node $NodeVersion"
        Get-Pinned $NodeUrl $NodeSha256 "$target\node.zip"
        Expand-Into "$target\node.zip" "$target\node-unpacked"
        if (Test-Path "$target\node") { Remove-Item -Recurse -Force "$target\node" }
        Move-Item "$target\node-unpacked\node-v$NodeVersion-win-x64" "$target\node"
        Remove-Item -Recurse -Force "$target\node-unpacked", "$target\node.zip"
    }
    if (-not (Test-Path "$forAgents\node.exe")) { Copy-Item -Recurse -Force "$target\node" $forAgents }
}

function Install-Cua {
    $lock = "$PSScriptRoot\requirements.lock"
    $note = "$target\cua\lock.sha256"
    $hash = (Get-FileHash -LiteralPath $lock -Algorithm SHA256).Hash
    if ((Test-Path $note) -and ((Get-Content -LiteralPath $note) -eq $hash)) { return }
    Write-Step "cua-server on Python $PythonVersion"
    Get-Pinned $UvUrl $UvSha256 "$target\uv.zip"
    Expand-Into "$target\uv.zip" "$target\uv"
    Remove-Item -Force "$target\uv.zip"
    $uv = "$target\uv\uv-$UvVersion.data\scripts\uv.exe"
    $env:UV_PYTHON_INSTALL_DIR = "$target\python"
    $env:UV_CACHE_DIR = "$target\uv\cache"
    Invoke-Program $uv @('python', 'install', '--quiet', '--no-bin', $PythonVersion)
    Invoke-Program $uv @('venv', '--quiet', '--clear', '--python', $PythonVersion, "$target\cua\venv")
    Invoke-Program $uv @('pip', 'install', '--quiet', '--require-hashes', '--no-deps', '--only-binary', ':all:', '--python', "$target\cua\venv\Scripts\python.exe", '-r', $lock)
    New-Item -ItemType Directory -Force -Path 'C:\ale-run' | Out-Null
    Invoke-Program $uv @('venv', '--quiet', '--clear', '--seed', '--python', $PythonVersion, 'C:\ale-run\.venv')
    $sid = (Get-LocalUser -Name $agent).SID.Value
    Invoke-Program 'icacls.exe' @('C:\ale-run\.venv', '/grant', "*${sid}:(OI)(CI)F")
    Remove-Item -Recurse -Force "$target\uv\cache"
    Set-Content -LiteralPath $note -Value $hash -Encoding ascii
}

function Install-SevenZip {
    if (Test-Path 'C:\Program Files\7-Zip\7z.exe') { return }
    Write-Step '7-Zip'
    Get-Pinned $SevenZipUrl $SevenZipSha256 "$target\7z.msi"
    $setup = Start-Process -FilePath msiexec.exe -ArgumentList "/i `"$target\7z.msi`" /qn /norestart" -Wait -PassThru
    if ($setup.ExitCode -notin @(0, 3010)) { throw "the setup of 7-Zip ended with $($setup.ExitCode)" }
    Remove-Item -Force "$target\7z.msi"
    $path = [Environment]::GetEnvironmentVariable('Path', 'Machine')
    if ($path -notlike '*7-Zip*') { [Environment]::SetEnvironmentVariable('Path', "$path;C:\Program Files\7-Zip", 'Machine') }
}

Install-Files
if (-not $FilesOnly) {
    Stop-Updates
    Stop-Interruptions
    New-Agent
    Install-Node
    Install-Cua
    Install-SevenZip
}
Write-Step 'done'
