import path from 'node:path';
import type { RpcCall, RpcResult } from '#contracts/guest';

type Params = Readonly<Record<string, unknown>>;

/** The file part of the guest RPC over a map, with the answers of the real one; commands do nothing and exit 0. */
export class MemoryFiles {
  readonly #files = new Map<string, Buffer>();
  readonly #folders = new Set<string>(['/', '/tmp', '/home/user']);

  answer({ command, params }: RpcCall): RpcResult {
    const act = Object.hasOwn(this.#acts, command) ? this.#acts[command] : undefined;
    if (act === undefined) return { success: false, error: `Unknown command: ${command}` };
    try {
      return { success: true, ...act(params) };
    } catch (error) {
      return { success: false, error: error instanceof Error ? error.message : String(error) };
    }
  }

  readonly #acts: Readonly<Record<string, (params: Params) => Readonly<Record<string, unknown>>>> = {
    run_command: () => ({ stdout: '', stderr: '', return_code: 0 }),
    file_exists: (params) => ({ exists: this.#files.has(pathOf(params)) }),
    directory_exists: (params) => ({ exists: this.#folders.has(pathOf(params)) }),
    list_dir: (params) => ({ files: this.#namesIn(this.#folder(pathOf(params))) }),
    read_text: (params) => ({ content: this.#file(params).toString('utf8') }),
    read_bytes: (params) => {
      const content = this.#file(params);
      const offset = Number(params['offset'] ?? 0);
      const length = Number(params['length'] ?? content.length);
      return { content_b64: content.subarray(offset, offset + length).toString('base64') };
    },
    get_file_size: (params) => ({ size: this.#file(params).length }),
    write_text: (params) => this.#write(params, Buffer.from(String(params['content']), 'utf8')),
    write_bytes: (params) => this.#write(params, Buffer.from(String(params['content_b64']), 'base64')),
    delete_file: (params) => {
      this.#file(params);
      this.#files.delete(pathOf(params));
      return {};
    },
    create_dir: (params) => {
      for (let at = pathOf(params); at !== '/'; at = path.posix.dirname(at)) this.#folders.add(at);
      return {};
    },
    delete_dir: (params) => {
      const folder = this.#folder(pathOf(params));
      if (this.#namesIn(folder).length > 0) throw new Error(`ENOTEMPTY: directory not empty, rmdir '${folder}'`);
      this.#folders.delete(folder);
      return {};
    },
  };

  #write(params: Params, content: Buffer): Readonly<Record<string, never>> {
    const file = pathOf(params);
    this.#folder(path.posix.dirname(file));
    const before = params['append'] === true ? this.#files.get(file) : undefined;
    this.#files.set(file, before === undefined ? content : Buffer.concat([before, content]));
    return {};
  }

  #file(params: Params): Buffer {
    const content = this.#files.get(pathOf(params));
    if (content === undefined) throw new Error(`ENOENT: no such file or directory, open '${pathOf(params)}'`);
    return content;
  }

  #folder(folder: string): string {
    if (!this.#folders.has(folder)) throw new Error(`ENOENT: no such file or directory, scandir '${folder}'`);
    return folder;
  }

  #namesIn(folder: string): string[] {
    return [...this.#files.keys(), ...this.#folders]
      .filter((each) => each !== folder && path.posix.dirname(each) === folder)
      .map((each) => path.posix.basename(each))
      .sort();
  }
}

function pathOf(params: Params): string {
  if (typeof params['path'] !== 'string') throw new TypeError('path must be text');
  return path.posix.resolve('/home/user', params['path']);
}
