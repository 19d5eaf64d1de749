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
