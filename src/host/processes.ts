/** The processes that share this process' network, as far as /proc shows them. Linux only. */
import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'

export interface RunningProcess {
  readonly pid: number
  readonly parentPid: number
  readonly args: readonly string[]
  /** It is of root or of our own user, so that what it was told is as good as what we are told. */
  readonly isTrusted: boolean
  /** Inodes of its sockets; undefined where this user may not look. */
  readonly sockets: ReadonlySet<string> | undefined
}

/** Rejects where there is no /proc. A container with a process namespace of its own sees only its own. */
export async function processesHere(proc = '/proc'): Promise<readonly RunningProcess[]> {
  const network = await readlink(join(proc, 'self/ns/net'))
  const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name))
  const found: RunningProcess[] = []
  for (const pid of pids) {
    const process = await readProcess(join(proc, pid), network)
    if (process !== undefined) found.push({ ...process, pid: Number(pid) })
  }
  return found
}

/** Processes come and go while we read: one that is gone is none. */
async function readProcess(folder: string, network: string): Promise<Omit<RunningProcess, 'pid'> | undefined> {
  try {
    if ((await readlink(join(folder, 'ns/net'))) !== network) return undefined
    const args = (await readFile(join(folder, 'cmdline'), 'utf8')).split('\0').slice(0, -1)
    const parent = /\) \S (\d+) /.exec(await readFile(join(folder, 'stat'), 'utf8'))?.[1]
    const isTrusted = isOfTrustedUser(await readFile(join(folder, 'status'), 'utf8'))
    return { args, parentPid: Number(parent ?? 0), isTrusted, sockets: await socketsIn(join(folder, 'fd')) }
  } catch {
    return undefined
  }
}

/** All its users: a program with the setuid bit is started by anybody. The owner of the folder says less. */
function isOfTrustedUser(status: string): boolean {
  const users = /^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/) ?? []
  return users.length > 0 && users.every((user) => user === '0' || user === String(process.getuid?.()))
}

async function socketsIn(folder: string): Promise<ReadonlySet<string> | undefined> {
  let names: readonly string[]
  try {
    names = await readdir(folder)
  } catch {
    return undefined
  }
  const links = await Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => '')))
  return new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []))
}
