# Run by the logon task in the console session, as the agent: sets the screen, then keeps the cua-server running.
# Unverified: no Windows machine has run it.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot\layout.ps1"
$settings = Get-Content -Raw -LiteralPath "$state\sandbox.json" | ConvertFrom-Json
$log = "$env:LOCALAPPDATA\examhall-desktop.log"

Set-ItemProperty -Path 'HKCU:\Control Panel\Desktop' -Name ScreenSaveActive -Value '0'
Set-ItemProperty -Path 'HKCU:\Control Panel\Desktop' -Name ScreenSaverIsSecure -Value '0'

# Before the server, so that a screen it shows has its size for good. The display may come some seconds after the desktop.
for ($try = 1; ; $try++) {
    try {
        $said = & "$PSScriptRoot\set-resolution.ps1" -Resolution $settings.resolution | Out-String
        break
    } catch {
        $said = "$_"
        if ($try -ge 10) { break }
        Start-Sleep -Seconds 2
    }
}
# The desktop is there all the same. The runner's hello tells what stands here with the size that it sees.
Set-Content -LiteralPath "$env:LOCALAPPDATA\examhall-screen.txt" -Value $said.Trim() -Encoding ascii

$env:CUA_TELEMETRY_ENABLED = 'false'
$env:DO_NOT_TRACK = '1'
$env:PYTHONDONTWRITEBYTECODE = '1'
$env:PYTHONUTF8 = '1'
Remove-Item Env:CONTAINER_NAME -ErrorAction SilentlyContinue
while ($true) {
    $server = Start-Process -FilePath "$target\cua\venv\Scripts\python.exe" -PassThru -WindowStyle Hidden `
        -ArgumentList '-m', 'computer_server', '--host', '0.0.0.0', '--port', '5000', '--log-level', 'info'
    # Without it there is no exit code later.
    $null = $server.Handle
    $server.WaitForExit()
    "cua-server ended with $($server.ExitCode)" | Out-File -Append -FilePath $log
    Start-Sleep -Seconds 5
}
