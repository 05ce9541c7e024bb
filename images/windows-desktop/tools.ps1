# Small tools of install.ps1 and configure.ps1, which dot-source this.

# A program that ends otherwise than it should is an error, which Windows PowerShell does not make of it.
function Invoke-Program([string]$program, [string[]]$arguments, [int[]]$allowed = @(0)) {
    & $program @arguments | Out-Null
    if ($LASTEXITCODE -notin $allowed) { throw "$program ended with $LASTEXITCODE" }
}

function Set-Value([string]$key, [string]$name, $value, [string]$type = 'DWord') {
    if (-not (Test-Path $key)) { New-Item -Path $key -Force | Out-Null }
    New-ItemProperty -Path $key -Name $name -Value $value -PropertyType $type -Force | Out-Null
}
