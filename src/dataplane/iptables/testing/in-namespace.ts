/** Moves this thread into a network namespace for some time, so that sockets that it opens belong there. */
import { closeSync, openSync } from 'node:fs'
import koffi from 'koffi'

const CLONE_NEWNET = 0x40000000

export async function inNamespace<T>(path: string, work: () => Promise<T>): Promise<T> {
  const home = openSync('/proc/thread-self/ns/net', 'r')
  const there = openSync(path, 'r')
  try {
    enter(there)
    return await work()
  } finally {
    enter(home)
    closeSync(there)
    closeSync(home)
  }
}

function enter(fd: number): void {
  const setns = koffi.load(null).func('int setns(int fd, int type)')
  if (Number(setns(fd, CLONE_NEWNET)) !== 0) throw new Error(`setns failed with errno ${koffi.errno()}`)
}
