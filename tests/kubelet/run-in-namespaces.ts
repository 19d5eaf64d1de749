/** Starts inside.ts in namespaces of its own, and cleans up after it, however it ends. */
import { spawn } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { cgroupName, removeCgroups } from './cluster/cgroups.ts'
import { renderTask } from './task.ts'
import type { Task } from './task.ts'

const inside = fileURLToPath(new URL('inside.ts', import.meta.url))

/** Resolves with whether all went well; a signal to this process ends the cluster first, and this process then. */
export async function runInNamespaces(task: Omit<Task, 'cgroup'>): Promise<boolean> {
  await rm(task.resultFolder, { recursive: true, force: true })
  await mkdir(task.resultFolder, { recursive: true })
  const cgroup = cgroupName(process.pid)
  // The kernel ends a pid namespace with its first process, and unshare with this one: nothing can stay behind.
  const child = spawn('setpriv', [
    '--pdeathsig', 'KILL', '--',
    'unshare', '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc',
    process.execPath, '--import=tsx', inside, renderTask({ ...task, cgroup }),
  ], { stdio: ['ignore', 'inherit', 'inherit'] }) // prettier-ignore
  let endedBy: NodeJS.Signals | undefined
  const end = (signal: NodeJS.Signals): void => {
    endedBy = signal
    child.kill('SIGKILL')
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, end)
  try {
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    return exitCode === 0
  } finally {
    for (const signal of signals) process.off(signal, end)
    await removeCgroups(cgroup)
    if (endedBy !== undefined) process.kill(process.pid, endedBy)
  }
}
