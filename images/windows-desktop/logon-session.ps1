# Run by the logon task in the console session, as the agent: keeps the runner's session going. Without a window of its own: a console
# would lie on the agent's screen, and whoever closes it ends the session and the agent's own job.
# Unverified: no Windows machine has run it.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot\layout.ps1"
while ($true) {
    $session = Start-Process -FilePath "$target\node\node.exe" -PassThru -WindowStyle Hidden `
        -ArgumentList "$target\runner.mjs", 'session', "$state\spool"
    $session.WaitForExit()
    Start-Sleep -Seconds 1
}
