/** Carries datagrams to the kernel and back: a real socket, or a script in a test. */
export interface Datagrams {
  send(datagram: Buffer): Promise<void>
  /**
   * Never waits. The kernel answers before `send` is done, so an empty queue means that there is nothing more to come.
   */
  receive(): Promise<Buffer | undefined>
  close(): Promise<void>
}

/** A real socket. These settings throw a NetlinkError when the kernel refuses. */
export interface KernelDatagrams extends Datagrams {
  /** From now on, messages to this multicast group are received, too. */
  join(group: number): void
  leave(group: number): void
  /** The kernel refuses a datagram that is larger than the send buffer. */
  makeRoom(bytes: number): void
}
