/** Commands that change nothing: asking twice is asking once. */
const READS: ReadonlySet<string> = new Set([
  ...['version', 'screenshot', 'list_dir', 'read_text', 'read_bytes', 'copy_to_clipboard', 'find_element'],
  ...['file_exists', 'directory_exists'],
]);

/** True for a command that may be sent again when its answer was lost. */
export function isRepeatable(command: string): boolean {
  return READS.has(command) || command.startsWith('get_');
}
