# Sets the primary screen's size; has to run in the session that owns the screen. Fails with the sizes there are.
# Unverified: no Windows machine has run it, nor is it known which sizes the display of an EC2 machine has.
param([Parameter(Mandatory = $true)][string]$Resolution)
$ErrorActionPreference = 'Stop'

$width, $height = $Resolution.Split('x') | ForEach-Object { [int]$_ }
if (-not ('ExamHallScreen' -as [type])) {
    # The name of a device is null in C# alone: PowerShell gives an empty text in its place, which names no device.
    Add-Type -TypeDefinition @'
using System;
using System.Collections.Generic;
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
    const int Depth = 0x40000, Width = 0x80000, Height = 0x100000;

    [DllImport("user32.dll", CharSet = CharSet.Unicode)]
    static extern bool EnumDisplaySettings(string device, int number, ref ExamHallMode mode);
    [DllImport("user32.dll", CharSet = CharSet.Unicode)]
    static extern int ChangeDisplaySettings(ref ExamHallMode mode, int flags);

    // Null when the screen has the size, or what is in the way.
    public static string Set(int width, int height) {
        List<string> sizes = new List<string>();
        for (int number = 0; ; number++) {
            ExamHallMode mode = new ExamHallMode();
            mode.Size = (short)Marshal.SizeOf(typeof(ExamHallMode));
            if (!EnumDisplaySettings(null, number, ref mode)) break;
            string size = mode.PelsWidth + "x" + mode.PelsHeight;
            if (!sizes.Contains(size)) sizes.Add(size);
            if (mode.PelsWidth != width || mode.PelsHeight != height || mode.BitsPerPel != 32) continue;
            mode.Fields = Width | Height | Depth;
            int code = ChangeDisplaySettings(ref mode, 0);
            return code == 0 ? null : "ChangeDisplaySettings answered " + code;
        }
        return sizes.Count == 0 ? "there is no display" : "this display has " + string.Join(", ", sizes.ToArray());
    }
}
'@
}

$trouble = [ExamHallScreen]::Set($width, $height)
if ($null -ne $trouble) { throw "the screen cannot be ${Resolution}: $trouble" }
Write-Output "the screen is $Resolution"
