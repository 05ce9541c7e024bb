# The agent's account, its profile, and what it may write. Dot-sourced by configure.ps1: it is each machine's own, for sysprep gives
# the accounts of an image new SIDs, and what names the old ones lets nobody in. Unverified: no Windows machine has run it.

# A new one each time, with some of each kind for whatever policy the image has. Hexadecimal digits cannot spell the account's name,
# which such a policy forbids.
function New-Password {
    $bytes = New-Object byte[] 24
    $random = [Security.Cryptography.RandomNumberGenerator]::Create()
    $random.GetBytes($bytes)
    'Aa1!' + [BitConverter]::ToString($bytes).Replace('-', '')
}

function New-Agent {
    if ($null -eq (Get-LocalUser -Name $agent -ErrorAction SilentlyContinue)) {
        $password = ConvertTo-SecureString -AsPlainText -Force -String (New-Password)
        New-LocalUser -Name $agent -Password $password -PasswordNeverExpires -UserMayNotChangePassword -AccountNeverExpires | Out-Null
    }
    Add-LocalGroupMember -Group (Get-LocalGroup -SID 'S-1-5-32-545') -Member $agent -ErrorAction SilentlyContinue
    New-AgentProfile (Get-LocalUser -Name $agent).SID.Value
}

# The profile must be there before anything lies in its folder, or Windows names the folder differently.
function New-AgentProfile([string]$sid) {
    $folder = "C:\Users\$agent"
    $profiles = 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion\ProfileList'
    if (Test-Path "$profiles\$sid") { return }
    if (Test-Path $folder) {
        # Of an account of that name on the machine that the image was made of: nobody can log on with it.
        Get-ChildItem $profiles | Where-Object { $_.GetValue('ProfileImagePath') -eq $folder } | Remove-Item -Recurse -Force
        Move-Item -LiteralPath $folder -Destination "$folder.$([DateTime]::UtcNow.Ticks)"
    }
    Add-Type -Namespace ExamHall -Name Profiles -MemberDefinition @'
[DllImport("userenv.dll", CharSet = CharSet.Unicode)]
public static extern int CreateProfile(string sid, string name, System.Text.StringBuilder path, uint length);
'@
    $path = New-Object System.Text.StringBuilder 260
    $code = [ExamHall.Profiles]::CreateProfile($sid, $agent, $path, 260)
    if ($code -ne 0) { throw "CreateProfile ended with $code" }
    if (-not (Test-Path $folder)) { throw "the profile of $agent lies in $path and not in $folder" }
}

# Where image families have things for agents.
function Add-AgentFolders {
    $sid = (Get-LocalUser -Name $agent).SID.Value
    $folders = @("C:\Users\$agent\.ale", "C:\Users\$agent\cua_mcp_server")
    # Task data is on E:. Where there is no such disk it is a folder of C:, from the next boot on.
    if (Test-Path 'E:\') { $folders += 'E:\agenthle' } else {
        $folders += 'C:\examhall-data', 'C:\examhall-data\agenthle'
        Set-Value 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\DOS Devices' 'E:' '\??\C:\examhall-data' 'String'
    }
    if (Test-Path 'C:\ale-run\.venv') { $folders += 'C:\ale-run\.venv' }
    foreach ($folder in $folders) {
        New-Item -ItemType Directory -Force -Path $folder | Out-Null
        Invoke-Program 'icacls.exe' @($folder, '/grant', "*${sid}:(OI)(CI)F")
    }
}

# Agents look for Node in their home.
function Add-AgentNode {
    $version = & "$target\node\node.exe" --version
    if ($LASTEXITCODE -ne 0) { throw "$target\node\node.exe ended with $LASTEXITCODE" }
    $folder = "C:\Users\$agent\node-$version-win-x64"
    if (Test-Path "$folder\node.exe") { return }
    if (Test-Path $folder) { Remove-Item -Recurse -Force -LiteralPath $folder }
    Copy-Item -Recurse -Force "$target\node" $folder
}
