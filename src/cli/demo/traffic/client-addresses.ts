/** Addresses that clients of the demo can come from, so that the proxy tells them apart. */
import { isFree } from '../free-port.ts'

const wanted = ['127.0.0.11', '127.0.0.12', '127.0.0.13', '127.0.0.14']

/** On Linux and Windows all of 127.0.0.0/8 is this machine; macOS has 127.0.0.1 alone, and then there is one client. */
export async function clientAddresses(): Promise<readonly string[]> {
  const usable: string[] = []
  for (const address of wanted) if (await isFree(address, 0)) usable.push(address)
  return usable.length === 0 ? ['127.0.0.1'] : usable
}
