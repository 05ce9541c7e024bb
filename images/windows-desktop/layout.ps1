# Where a sandbox has its things, whose they are, and that account's password. Dot-sourced by the other scripts.
# Unverified: no Windows machine has run it.
$target = 'C:\examhall'
$state = 'C:\ProgramData\ExamHall'
$agent = 'User'

# A new one each time, with some of each kind for whatever policy the image has.
function New-Password {
    $bytes = New-Object byte[] 24
    $random = [Security.Cryptography.RandomNumberGenerator]::Create()
    $random.GetBytes($bytes)
    'Aa1!' + [Convert]::ToBase64String($bytes)
}
