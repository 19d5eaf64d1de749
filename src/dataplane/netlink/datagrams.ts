/** What carries datagrams to the kernel and back: a real socket, or a script in a test. */
export interface Datagrams {
  send(datagram: Buffer): Promise<void>
  /**
   * The next datagram; undefined when there is none. The kernel answers while it takes a request, so an empty queue
   * means that it has said everything: nobody ever waits here.
   */
  receive(): Promise<Buffer | undefined>
  close(): Promise<void>
}

/** A socket of this machine. These settings throw a NetlinkError when the kernel refuses. */
export interface KernelDatagrams extends Datagrams {
  /** From now on, what the kernel tells this multicast group is received too. */
  join(group: number): void
  leave(group: number): void
  /** The kernel refuses a datagram that is larger than the send buffer. */
  makeRoom(bytes: number): void
}
