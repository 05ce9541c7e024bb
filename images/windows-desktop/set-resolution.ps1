# Sets the primary screen's size; has to run in the session that owns the screen. Fails with the sizes there are.
# Unverified: no Windows machine has run it.
param([Parameter(Mandatory = $true)][string]$Resolution)
$ErrorActionPreference = 'Stop'

$width, $height = $Resolution.Split('x') | ForEach-Object { [int]$_ }
Add-Type -TypeDefinition @'
using System;
using System.Runtime.InteropServices;

[StructLayout(LayoutKind.Sequential, CharSet = CharSet.Unicode)]
public struct ExamHallMode {
    [MarshalAs(UnmanagedType.ByValTStr, SizeConst = 32)] public string DeviceName;
    public short SpecVersion, DriverVersion, Size, DriverExtra;
    public int Fields;
    public int PositionX, PositionY, DisplayOrientation, DisplayFixedOutput;
    public short Color, Duplex, YResolution, TTOption, Collate;
    [MarshalAs(UnmanagedType.ByValTStr, SizeConst = 32)] public string FormName;
    public short LogPixels;
    public int BitsPerPel, PelsWidth, PelsHeight, DisplayFlags, DisplayFrequency;
    public int ICMMethod, ICMIntent, MediaType, DitherType, Reserved1, Reserved2, PanningWidth, PanningHeight;
}

public static class ExamHallScreen {
    [DllImport("user32.dll", CharSet = CharSet.Unicode)]
    public static extern bool EnumDisplaySettings(string device, int number, ref ExamHallMode mode);
    [DllImport("user32.dll", CharSet = CharSet.Unicode)]
    public static extern int ChangeDisplaySettings(ref ExamHallMode mode, int flags);
}
'@

function New-Mode {
    $mode = New-Object ExamHallMode
    $mode.Size = [Runtime.InteropServices.Marshal]::SizeOf([type][ExamHallMode])
    $mode
}

$sizes = @()
for ($number = 0; ; $number++) {
    $mode = New-Mode
    if (-not [ExamHallScreen]::EnumDisplaySettings($null, $number, [ref]$mode)) { break }
    $sizes += "$($mode.PelsWidth)x$($mode.PelsHeight)"
    if ($mode.PelsWidth -ne $width -or $mode.PelsHeight -ne $height -or $mode.BitsPerPel -ne 32) { continue }
    # Width, height and depth.
    $mode.Fields = 0x80000 -bor 0x100000 -bor 0x40000
    $code = [ExamHallScreen]::ChangeDisplaySettings([ref]$mode, 0)
    if ($code -eq 0) {
        Write-Output "the screen is $Resolution"
        exit 0
    }
    throw "ChangeDisplaySettings answered $code for $Resolution"
}
throw "this screen cannot be $Resolution; it can be $(($sizes | Select-Object -Unique) -join ', ')"
