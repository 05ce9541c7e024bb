/** How archives of references are called, with the pieces that archivers split them into, in any case. */
export const REFERENCE_NAMES = ['reference.7z*', 'reference.zip*', 'reference.tar*', 'reference.rar*'] as const;

/** Types of file systems that lie on a machine's own disks. */
export const LOCAL_FILE_SYSTEMS = [
  ...['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'zfs', 'overlay'],
  ...['ntfs', 'ntfs3', 'fuseblk', 'vfat', 'exfat'],
] as const;
