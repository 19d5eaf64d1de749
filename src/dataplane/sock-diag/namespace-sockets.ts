/** Netlink sockets in other network namespaces, opened by a thread of its own: a namespace belongs to a thread. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { NamespaceFolders, NamespaceQuestion, NamespaceTask } from './namespace-worker.ts'
import type { NamespaceAnswer } from './open-in-each.ts'
import type { Reach } from './sockets.ts'

/** The thread of this process that enters the namespaces. It reads `/proc` and `/run/netns` of the machine. */
export async function openInNamespaces(program: URL, question: NamespaceQuestion): Promise<NamespaceAnswer> {
  return answerOf(program, question)
}

/** How far such a thread gets. */
export async function tryToLeave(program: URL, folders: NamespaceFolders): Promise<Reach> {
  return answerOf(program, { ...folders, wanted: 'another' })
}

async function answerOf<T extends NamespaceAnswer | Reach>(program: URL, task: NamespaceTask): Promise<T> {
  // Its descriptors outlive it.
  const worker = new Worker(program, { workerData: task, trackUnmanagedFds: false })
  try {
    // Rejects if the thread throws.
    const [answer] = (await once(worker, 'message')) as [T]
    return answer
  } finally {
    await worker.terminate()
  }
}
