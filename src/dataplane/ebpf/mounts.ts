/** What is mounted where, as /proc/self/mountinfo tells it. */

export interface Mount {
  readonly path: string
  /** The kind of file system. */
  readonly type: string
}

/** Mounts that are hidden by others are among them. */
export function parseMounts(mountinfo: string): readonly Mount[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [mount = '', source = ''] = line.split(' - ')
    const [path, type] = [mount.split(' ')[4], source.split(' ')[0]]
    return path === undefined || type === undefined ? [] : [{ path: unescaped(path), type }]
  })
}

function unescaped(path: string): string {
  return path.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)))
}
