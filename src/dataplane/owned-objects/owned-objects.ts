/**
 * What on this machine is ours, where nothing on the objects themselves tells: load balancers of HNS have no name, its remote
 * endpoints get one from HNS, and addresses of an interface have none. So it is written down. Frontends and addresses are
 * remembered, not ids: they are known before an object is made, so a process that is killed in between leaves nothing
 * that nobody knows; and HNS may give an object that it restores another id.
 */
export interface OwnedObjects {
  /** Lines such as `balancer ipv4 6 10.96.0.10 53` or `endpoint 10.64.2.7`. */
  has(object: string): boolean
  /**
   * On disk when it resolves. Costs as much as what is added. A disk that does not work stops nobody: it is logged, and
   * what is not on disk then is not known to be ours after a restart.
   */
  add(objects: readonly string[]): Promise<void>
  remove(objects: readonly string[]): Promise<void>
  /** All of them. */
  list(): readonly string[]
}
