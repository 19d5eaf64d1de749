/** The kernel's NFS server in the namespace of a pod, without the daemons that usually tell it what it exports. */
import { mkdirSync } from 'node:fs'
import type { Namespace } from '../../../packet/testing/namespace.ts'

export const nfsPort = 2049

export class NfsServer {
  readonly #pod: Namespace
  /** The kernel's controls of the server. There is one for each network namespace. */
  readonly #controls: string

  /** Exports the folder, as the root of NFS 4, to clients with these addresses. */
  constructor(pod: Namespace, controls: string, folder: string, clients: readonly string[]) {
    this.#pod = pod
    this.#controls = controls
    mkdirSync(controls)
    const [forEver, insecureWithoutSubtreeCheckWithNumber] = [2 ** 31 - 1, 0x2402]
    this.#do(
      'modprobe nfsd',
      `mount -t nfsd nfsd ${controls}`,
      ...clients.map((ip) => `echo "nfsd ${ip} ${forEver} all" >/proc/net/rpc/auth.unix.ip/channel`),
      `echo "all ${folder} ${forEver} ${insecureWithoutSubtreeCheckWithNumber} 0 0 0" >/proc/net/rpc/nfsd.export/channel`,
      String.raw`printf 'all 1 \\x00000000 ${forEver} ${folder}\n' >/proc/net/rpc/nfsd.fh/channel`,
    )
  }

  start(): void {
    this.#do(
      `cd ${this.#controls}`,
      // The older versions want a portmapper.
      'echo "-3 +4 +4.1 +4.2" >versions',
      // So long it gives files only to clients that had them before: 10 s are the least that it takes.
      'echo 10 >nfsv4gracetime',
      'echo 10 >nfsv4leasetime',
      `echo "tcp ${nfsPort}" >portlist`,
      'echo 2 >threads',
    )
  }

  /** Ends its connections, and refuses others. */
  stop(): void {
    this.#do(`echo 0 >${this.#controls}/threads`)
  }

  #do(...lines: readonly string[]): void {
    this.#pod.run('sh', ['-e'], { input: lines.join('\n') })
  }
}
