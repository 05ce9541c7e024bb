# Turns a machine that was made from somebody else's image into ours. Run elevated from the unpacked boot archive. Refuses an image
# that holds answers, unless told to remove them. Restart afterwards. Unverified: no Windows machine has run it.
param([switch]$RemoveReferences)
$ErrorActionPreference = 'Stop'

$found = @(& "$PSScriptRoot\find-references.ps1")
if ($found.Count -gt 0) {
    if (-not $RemoveReferences) {
        foreach ($path in $found) { [Console]::Error.WriteLine("examhall-adopt: this image holds reference material: $path") }
        exit 3
    }
    foreach ($path in $found) { if (Test-Path -LiteralPath $path) { Remove-Item -Recurse -Force -LiteralPath $path } }
}

# Whatever brought a server before would take the port.
Get-ScheduledTask | Where-Object { $_.TaskName -notlike 'ExamHall-*' } | Where-Object {
    $_.Actions | Where-Object { "$($_.Execute) $($_.Arguments)" -match 'computer_server|cua' }
} | Unregister-ScheduledTask -Confirm:$false
Remove-ItemProperty -Path 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Run' -Name '*cua*' -ErrorAction SilentlyContinue

. "$PSScriptRoot\layout.ps1"
New-Item -ItemType Directory -Force -Path $state | Out-Null
if (-not (Test-Path "$state\sandbox.json")) {
    Set-Content -LiteralPath "$state\sandbox.json" -Encoding ascii -Value '{"privilege":"restricted","resolution":"1920x1080","expiresAt":""}'
}
& "$PSScriptRoot\install.ps1"
& "$PSScriptRoot\configure.ps1"
& "$PSScriptRoot\verify.ps1"
exit $LASTEXITCODE
