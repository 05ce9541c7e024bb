/** An image family of ALE: the operating system and the folders that a sandbox made from it has. */
export interface ImageFamily {
  readonly name: string;
  readonly os: 'linux' | 'windows';
  readonly cuaPort: number;
  /** Holds the working folders of agents. */
  readonly workRoot: string;
  /** Holds `<domain>/<task>/<variant>`. */
  readonly dataRoot: string;
  readonly python: string;
  readonly node: string;
  readonly mcpServerDir: string;
  /** GCE name; null where the host decides the size. */
  readonly defaultMachineType: string | null;
}

const ubuntu: Omit<ImageFamily, 'name'> = {
  os: 'linux',
  cuaPort: 5000,
  workRoot: '/home/user/.ale',
  dataRoot: '/media/user/data/agenthle',
  python: '/opt/ale-run/.venv/bin/python',
  node: '/usr/local/bin/node',
  mcpServerDir: '/home/user/cua_mcp_server',
  defaultMachineType: 'e2-standard-4',
};

const windows: Omit<ImageFamily, 'name'> = {
  os: 'windows',
  cuaPort: 5000,
  workRoot: 'C:\\Users\\User\\.ale',
  dataRoot: 'E:\\agenthle',
  python: 'C:\\ale-run\\.venv\\Scripts\\python.exe',
  node: 'C:\\Users\\User\\node-v24.12.0-win-x64\\node.exe',
  mcpServerDir: 'C:\\Users\\User\\cua_mcp_server',
  defaultMachineType: 'n2-standard-4',
};

const kasm: Omit<ImageFamily, 'name'> = {
  os: 'linux',
  cuaPort: 8000,
  workRoot: '/home/kasm-user/.ale',
  dataRoot: '/media/user/data/agenthle',
  python: '/usr/bin/python3',
  node: '/usr/bin/node',
  mcpServerDir: '/home/kasm-user/cua_mcp_server',
  defaultMachineType: null,
};

const families: readonly ImageFamily[] = [
  { name: 'ale-ubuntu22', ...ubuntu },
  { name: 'ale-ubuntu22-docker', ...ubuntu },
  { name: 'ale-kasm', ...kasm },
  { name: 'ale-win10', ...windows },
  { name: 'ale-win-server', ...windows },
  { name: 'ale-ubuntu22-v1-1', ...ubuntu },
  { name: 'ale-ubuntu22-docker-v1-1', ...ubuntu },
  { name: 'ale-win10-v1-1', ...windows },
  // Ours: images that a stage keeps beside the plain one, with a driver for its GPU, or with licensed software.
  { name: 'ale-ubuntu22-gpu', ...ubuntu },
  { name: 'ale-win-server-gpu', ...windows },
  { name: 'ale-win-server-license', ...windows },
  { name: 'ale-win-server-gpu-license', ...windows },
];

export const IMAGE_FAMILY_NAMES: readonly string[] = families.map(({ name }) => name);

/** The family of that name, or null. Underscores count as dashes: upstream's module names are accepted too. */
export function imageFamily(name: string): ImageFamily | null {
  const dashed = name.replaceAll('_', '-');
  return families.find((family) => family.name === dashed) ?? null;
}
