# Prints paths of answers that an image must not hold. Unverified: no Windows machine has run it.
$ErrorActionPreference = 'SilentlyContinue'
foreach ($root in @('C:\examhall-data', 'E:\', 'D:\', 'C:\Users', 'C:\ale-run', 'C:\agenthle')) {
    if (-not (Test-Path $root)) { continue }
    Get-ChildItem -LiteralPath $root -Recurse -Force |
        Where-Object {
            ($_.Name -in @('reference.7z', 'reference.zip')) -or ($_.Name -like 'reference.tar*') -or
            ($_.PSIsContainer -and $_.Name -eq 'reference' -and $_.FullName -like '*\agenthle\*')
        } | ForEach-Object { $_.FullName }
}
