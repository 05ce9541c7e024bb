# What the recipe brings, each with its SHA-256. Dot-sourced by install.ps1 and verify.ps1.

# As upstream's images have it, so that agents find the version they know.
$NodeVersion = '24.12.0'
$NodeUrl = "https://nodejs.org/dist/v$NodeVersion/node-v$NodeVersion-win-x64.zip"
$NodeSha256 = '9c125f61ae947b52e779095830f9cac267846a043ef7192183c84016aaad2812'

# Brings Python; it knows the SHA-256 of the Python that it fetches.
$UvVersion = '0.13.9'
$UvUrl = "https://files.pythonhosted.org/packages/dd/ef/ceeabf3631117f7354787d9fb1ffe943899e59ed4b887a696ed547e47e76/uv-$UvVersion-py3-none-win_amd64.whl"
$UvSha256 = '6a44b2ed8111d2f60d2b92627c5dccda3f7ed7570b18ce115e569cd68c28246b'
$PythonVersion = '3.12.16'

$SevenZipUrl = 'https://www.7-zip.org/a/7z2501-x64.msi'
$SevenZipSha256 = 'e7eb0b7ed5efa4e087b7b17f191797f7af5b7f442d1290c66f3a21777005ef57'
