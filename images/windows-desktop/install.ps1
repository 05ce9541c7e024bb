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
. "$PSScriptRoot\tools.ps1"

function Write-Step([string]$text) { Write-Output "examhall-install: $text" }

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
    # Of a machine that was switched off hard, which an administrator is asked about at the next logon.
    Set-Value 'HKLM:\SOFTWARE\Policies\Microsoft\Windows NT\Reliability' 'ShutdownReasonOn' 0
    Set-Value 'HKLM:\SOFTWARE\Policies\Microsoft\Windows NT\Reliability' 'ShutdownReasonUI' 0
    Disable-ScheduledTask -TaskPath '\Microsoft\Windows\Server Manager\' -TaskName 'ServerManager' -ErrorAction SilentlyContinue | Out-Null
    # Machines without such a thing to switch off are none the worse for it.
    foreach ($what in @('monitor-timeout-ac', 'standby-timeout-ac', 'hibernate-timeout-ac', 'disk-timeout-ac')) {
        & powercfg.exe /change $what 0 | Out-Null
        if ($LASTEXITCODE -ne 0) { Write-Warning "powercfg.exe /change $what 0 ended with $LASTEXITCODE" }
    }
    # Of what agents write, paths may be longer than 260 characters.
    Set-Value 'HKLM:\SYSTEM\CurrentControlSet\Control\FileSystem' 'LongPathsEnabled' 1
}

function Expand-Into([string]$file, [string]$folder) {
    if (Test-Path $folder) { Remove-Item -Recurse -Force -LiteralPath $folder }
    New-Item -ItemType Directory -Force -Path $folder | Out-Null
    Invoke-Program 'C:\Windows\System32\tar.exe' @('-xf', $file, '-C', $folder)
}

function Install-Node {
    if (Test-Path "$target\node\node.exe") { return }
    Write-Step "Node $NodeVersion"
    Get-Pinned $NodeUrl $NodeSha256 "$target\node.zip"
    Expand-Into "$target\node.zip" "$target\node-unpacked"
    if (Test-Path "$target\node") { Remove-Item -Recurse -Force "$target\node" }
    Move-Item "$target\node-unpacked\node-v$NodeVersion-win-x64" "$target\node"
    Remove-Item -Recurse -Force "$target\node-unpacked", "$target\node.zip"
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
    Install-Node
    Install-Cua
    Install-SevenZip
}
Write-Step 'done'
