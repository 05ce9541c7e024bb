# Prints paths of answers that an image must not hold. Looks where the scan of `examhall images adopt` looks, for the same names.
# Unverified: no Windows machine has run it.
$ErrorActionPreference = 'SilentlyContinue'
$names = 'reference.7z*', 'reference.zip*', 'reference.tar*', 'reference.rar*'
foreach ($drive in Get-PSDrive -PSProvider FileSystem) {
    Get-ChildItem -LiteralPath $drive.Root -Recurse -Force -Filter 'reference*' | Where-Object {
        $item = $_
        if ($item.PSIsContainer) { $item.Name -eq 'reference' -and $item.FullName -like '*\agenthle\*' }
        else { @($names | Where-Object { $item.Name -like $_ }).Count -gt 0 }
    } | ForEach-Object { $_.FullName }
}
