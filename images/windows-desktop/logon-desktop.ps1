# Run by the logon task in the console session, as the agent: sets the screen, then keeps the cua-server running.
# Unverified: no Windows machine has run it.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot\layout.ps1"
$settings = Get-Content -Raw -LiteralPath "$state\sandbox.json" | ConvertFrom-Json
$log = "$env:LOCALAPPDATA\examhall-desktop.log"

Set-ItemProperty -Path 'HKCU:\Control Panel\Desktop' -Name ScreenSaveActive -Value '0'
Set-ItemProperty -Path 'HKCU:\Control Panel\Desktop' -Name ScreenSaverIsSecure -Value '0'

try {
    & "$target\windows\set-resolution.ps1" -Resolution $settings.resolution *>> $log
} catch {
    # The desktop is there all the same; readiness and verify.ps1 see the wrong size.
    "set-resolution: $_" | Out-File -Append -FilePath $log
}

$env:CUA_TELEMETRY_ENABLED = 'false'
$env:DO_NOT_TRACK = '1'
$env:PYTHONDONTWRITEBYTECODE = '1'
$env:PYTHONUTF8 = '1'
Remove-Item Env:CONTAINER_NAME -ErrorAction SilentlyContinue
while ($true) {
    $server = Start-Process -FilePath "$target\cua\venv\Scripts\python.exe" -PassThru -WindowStyle Hidden `
        -ArgumentList '-m', 'computer_server', '--host', '0.0.0.0', '--port', '5000', '--log-level', 'info'
    $server.WaitForExit()
    "cua-server ended with $($server.ExitCode)" | Out-File -Append -FilePath $log
    Start-Sleep -Seconds 5
}
