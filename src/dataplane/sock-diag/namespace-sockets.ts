/** Netlink sockets in other network namespaces, opened by a thread of its own: a namespace belongs to a thread. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { NamespaceQuestion } from './namespace-worker.ts'
import type { NamespaceAnswer } from './open-in-each.ts'

/** The thread of this process that enters the namespaces. It reads `/proc` and `/run/netns` of the machine. */
export async function openInNamespaces(program: URL, question: NamespaceQuestion): Promise<NamespaceAnswer> {
  // Its descriptors outlive it.
  const worker = new Worker(program, { workerData: question, trackUnmanagedFds: false })
  try {
    // Rejects if the thread throws.
    const [answer] = (await once(worker, 'message')) as [NamespaceAnswer]
    return answer
  } finally {
    await worker.terminate()
  }
}
