# Looks at an installed sandbox and prints one line of JSON: {"image","ok","checks":[{"name","ok","seen"}]}. `ok` of a check is
# null where it cannot be seen yet, as what needs the agent's session cannot before the first restart. Exit code 0 when no check
# is false. Run elevated. Unverified: no Windows machine has run it.
[Console]::OutputEncoding = [Text.UTF8Encoding]::new($false)
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
. "$PSScriptRoot\layout.ps1"
. "$PSScriptRoot\pins.ps1"
$checks = New-Object System.Collections.ArrayList

# The block gives what was seen, and throws when it is wrong.
function Test-Fact([string]$name, [scriptblock]$block) {
    try {
        $seen = (& $block | Out-String).Trim()
        $ok = $true
    } catch {
        $seen = "$_"
        $ok = $false
    }
    $checks.Add([ordered]@{ name = $name; ok = $ok; seen = $seen.Substring(0, [Math]::Min(300, $seen.Length)) }) | Out-Null
}

function Skip-Fact([string]$name, [string]$why) {
    $checks.Add([ordered]@{ name = $name; ok = $null; seen = $why }) | Out-Null
}

function Confirm-That($fact, [string]$text) { if ($fact) { $text } else { throw $text } }

# The command's frame comes as 'data: <json>'.
function Invoke-Cua([string]$body) {
    $answer = Invoke-WebRequest -UseBasicParsing -Method Post -Uri 'http://127.0.0.1:5000/cmd' -ContentType 'application/json' -Body $body -TimeoutSec 30
    $text = $answer.Content
    if ($text -is [byte[]]) { $text = [Text.Encoding]::UTF8.GetString($text) }
    $text.Substring($text.IndexOf('data:') + 5) | ConvertFrom-Json
}

$settings = $null
if (Test-Path "$state\sandbox.json") { $settings = Get-Content -Raw -LiteralPath "$state\sandbox.json" | ConvertFrom-Json }
$user = Get-LocalUser -Name $agent -ErrorAction SilentlyContinue
$shell = @(Get-Process -Name explorer -IncludeUserName -ErrorAction SilentlyContinue | Where-Object { $_.UserName -like "*\$agent" })

Test-Fact 'agent-account' { Confirm-That ($null -ne $user -and $user.Enabled -and (Test-Path "C:\Users\$agent")) "$agent $($user.SID)" }
Test-Fact 'agent-privilege' {
    $members = @(Get-LocalGroupMember -SID 'S-1-5-32-544' | ForEach-Object { $_.SID.Value })
    $isAdministrator = $members -contains $user.SID.Value
    Confirm-That ($isAdministrator -eq ($settings.privilege -eq 'upstream')) "$($settings.privilege); administrator: $isAdministrator"
}
Test-Fact 'agent-writes-no-program' {
    $writing = [Security.AccessControl.FileSystemRights]'Write, Modify, FullControl'
    $own = @('S-1-5-18', 'S-1-5-32-544', 'S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464', 'S-1-3-0')
    foreach ($path in @($target, "$target\runner.mjs", "$target\windows", "$target\node\node.exe", "$state\spool")) {
        foreach ($rule in (Get-Acl -LiteralPath $path).GetAccessRules($true, $true, [Security.Principal.SecurityIdentifier])) {
            $isWriting = $rule.AccessControlType -eq 'Allow' -and ($rule.FileSystemRights -band $writing -band -bnot [Security.AccessControl.FileSystemRights]'ReadAndExecute, Synchronize')
            if ($isWriting -and $rule.IdentityReference.Value -notin $own) { throw "$path may be written by $($rule.IdentityReference.Value)" }
        }
    }
    'only SYSTEM and administrators'
}
Test-Fact 'jobs-folder' {
    foreach ($path in @($state, "$state\jobs")) {
        $others = @((Get-Acl -LiteralPath $path).GetAccessRules($true, $true, [Security.Principal.SecurityIdentifier]) |
            Where-Object { $_.IdentityReference.Value -notin @('S-1-5-18', 'S-1-5-32-544') })
        if ($others.Count -gt 0) { throw "$path is open to $($others[0].IdentityReference.Value)" }
    }
    'SYSTEM and administrators'
}
Test-Fact 'node' {
    $seen = & "$target\node\node.exe" --version
    Confirm-That ($seen -eq "v$NodeVersion" -and (Test-Path "C:\Users\$agent\node-v$NodeVersion-win-x64\node.exe")) $seen
}
Test-Fact 'runner' {
    # Without a verb it says how it is used, on standard error, with exit code 2.
    $ErrorActionPreference = 'Continue'
    & "$target\node\node.exe" "$target\runner.mjs" 2>&1 | Out-Null
    Confirm-That ($LASTEXITCODE -eq 2) "exit code $LASTEXITCODE"
}
Test-Fact 'bridge' { Confirm-That (Test-Path "$target\cua-desktop.mjs") "$target\cua-desktop.mjs" }
Test-Fact 'cua-installed' {
    $seen = & "$target\cua\venv\Scripts\python.exe" -I -c 'import importlib.metadata as m; print(m.version(''cua-computer-server''))'
    Confirm-That ($LASTEXITCODE -eq 0) $seen
}
Test-Fact 'task-python' {
    $seen = & 'C:\ale-run\.venv\Scripts\python.exe' --version
    Confirm-That ($LASTEXITCODE -eq 0) $seen
}
Test-Fact 'browser' { Confirm-That (Test-Path 'C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe') 'Edge' }
Test-Fact '7z' { Confirm-That (Test-Path 'C:\Program Files\7-Zip\7z.exe') 'C:\Program Files\7-Zip\7z.exe' }
Test-Fact 'updates-off' { Confirm-That ((Get-Service wuauserv).StartType -eq 'Disabled') "wuauserv: $((Get-Service wuauserv).StartType)" }
Test-Fact 'no-references' {
    $found = @(& "$PSScriptRoot\find-references.ps1" | Select-Object -First 3)
    Confirm-That ($found.Count -eq 0) $(if ($found.Count -eq 0) { 'none' } else { $found -join ', ' })
}

if ($null -eq $settings -or $shell.Count -eq 0) {
    foreach ($name in @('family-folders', 'autologon', 'dead-man', 'metadata', 'console-session', 'tasks', 'cua-answers', 'cua-in-session', 'screen')) {
        Skip-Fact $name 'nobody is logged on'
    }
} else {
    Test-Fact 'family-folders' {
        foreach ($path in @("C:\Users\$agent\.ale", 'E:\agenthle', "C:\Users\$agent\cua_mcp_server")) { if (-not (Test-Path $path)) { throw "no $path" } }
        'there'
    }
    Test-Fact 'autologon' {
        $logon = Get-ItemProperty 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Winlogon'
        Confirm-That ($logon.AutoAdminLogon -eq '1' -and $logon.DefaultUserName -eq $agent) "$($logon.AutoAdminLogon) $($logon.DefaultUserName)"
    }
    # An image that is being made has no end of its own.
    if ("$($settings.expiresAt)" -eq '') { Skip-Fact 'dead-man' 'no time was set' } else {
        Test-Fact 'dead-man' {
            $next = (Get-ScheduledTaskInfo -TaskName 'ExamHall-DeadMan').NextRunTime
            Confirm-That ($null -ne $next) "$next"
        }
    }
    Test-Fact 'metadata' {
        $rule = Get-NetFirewallRule -Name 'ExamHall-Metadata' -ErrorAction SilentlyContinue
        $addresses = @(if ($null -ne $rule) { ($rule | Get-NetFirewallAddressFilter).RemoteAddress })
        $isShut = $null -ne $rule -and $rule.Enabled -eq 'True' -and $rule.Action -eq 'Block' -and $addresses.Count -eq 2
        Confirm-That ($isShut -eq ($settings.privilege -eq 'restricted')) "$($settings.privilege); shut: $isShut"
    }
    # Session 0 belongs to services and has no screen.
    Test-Fact 'console-session' { Confirm-That ($shell[0].SessionId -gt 0) "session $($shell[0].SessionId)" }
    Test-Fact 'tasks' {
        foreach ($name in @('ExamHall-Desktop', 'ExamHall-Session')) {
            if ((Get-ScheduledTask -TaskName $name).State -ne 'Running') { throw "$name is $((Get-ScheduledTask -TaskName $name).State)" }
        }
        'running'
    }
    Test-Fact 'cua-answers' { (Invoke-WebRequest -UseBasicParsing -Uri 'http://127.0.0.1:5000/status' -TimeoutSec 20).Content }
    Test-Fact 'cua-in-session' {
        $answer = Invoke-Cua '{"command":"run_command","params":{"command":"whoami"}}'
        Confirm-That ($answer.stdout -like "*\$agent*") $answer.stdout
    }
    Test-Fact 'screen' {
        Add-Type -AssemblyName System.Drawing
        $bytes = [Convert]::FromBase64String((Invoke-Cua '{"command":"screenshot"}').image_data)
        $picture = New-Object Drawing.Bitmap (New-Object IO.MemoryStream (, $bytes))
        $brightest = 0.0
        for ($y = 0; $y -lt $picture.Height; $y += 16) {
            for ($x = 0; $x -lt $picture.Width; $x += 16) { $brightest = [Math]::Max($brightest, $picture.GetPixel($x, $y).GetBrightness()) }
        }
        $size = "$($picture.Width)x$($picture.Height)"
        Confirm-That ($size -eq $settings.resolution -and $brightest -gt 0.06) "$size, brightest $brightest"
    }
}

$isOk = @($checks | Where-Object { $_.ok -eq $false }).Count -eq 0
[ordered]@{ image = 'windows-desktop'; ok = $isOk; checks = @($checks) } | ConvertTo-Json -Compress -Depth 4
if ($isOk) { exit 0 } else { exit 1 }
