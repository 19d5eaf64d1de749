/** A socket in each network namespace that is wanted. */

export interface NamespaceAnswer {
  /** The descriptors belong to whoever asked. */
  readonly opened: readonly { readonly netns: bigint; readonly fd: number }[]
  /** How many it may not enter; one for each process that hides its own. */
  readonly closed: number
}

export interface NamespacePath {
  readonly path: string
  /** Whose it is may not be known to this process. */
  readonly isHidden: boolean
}

/** `no namespace`: it was one before the machine started anew, or is mounted elsewhere. */
export type Entered = 'yes' | 'not allowed' | 'no namespace' | 'gone'

/** What the thread can do. It is in its own namespace at first. */
export interface NamespaceDoors {
  /** Where each namespace may be found; one of them more than once. */
  readonly paths: Iterable<Pick<NamespacePath, 'path'>>
  readonly enter: (path: string) => Entered
  /** In the namespace that the thread is in. Returns a descriptor, or throws. */
  readonly openSocket: () => number
  /** Undefined: the kernel does not number namespaces. */
  readonly namespaceOf: (fd: number) => bigint | undefined
  readonly close: (fd: number) => void
}

/** `wanted` are cookies of network namespaces. If it throws, nothing stays open. */
export function openInEach(
  wanted: readonly bigint[] | 'all',
  { paths, enter, openSocket, namespaceOf, close }: NamespaceDoors,
): NamespaceAnswer {
  let closed = 0
  const missing = new Set(wanted === 'all' ? [] : wanted)
  const seen = new Set<bigint>()
  const isWanted = (netns: bigint) =>
    wanted === 'all' ? !seen.has(netns) && seen.add(netns).size > 0 : missing.delete(netns)
  const opened: { readonly netns: bigint; readonly fd: number }[] = []
  const add = (): void => {
    const fd = openSocket()
    const netns = namespaceOf(fd)
    if (netns !== undefined && isWanted(netns)) opened.push({ netns, fd })
    else close(fd)
  }
  try {
    // This one needs no right to enter it.
    add()
    for (const { path } of paths) {
      if (wanted !== 'all' && missing.size === 0) break
      const entered = enter(path)
      if (entered === 'yes') add()
      else if (entered !== 'gone') closed++
    }
  } catch (error) {
    for (const { fd } of opened) close(fd)
    throw error
  }
  return { opened, closed }
}
