/** A kernel that can run a guest. Each way to have one says what it needs, and how it is started. */
export interface GuestKernel {
  readonly name: GuestKernelName
  /** Programs that it needs on the host, with the Debian packages that have them. */
  readonly programs: readonly (readonly [program: string, debianPackage: string])[]
  /** What else is missing on this machine; undefined when it can be tried. */
  readonly missing: () => string | undefined
  /** A guest that has not run a first command by then never will. */
  readonly bootLimitMs: number
  readonly start: (guest: GuestMachine) => GuestStart | Promise<GuestStart>
}

export const guestKernelNames = ['user-mode-linux', 'qemu-kvm', 'qemu-tcg'] as const
export type GuestKernelName = (typeof guestKernelNames)[number]

/** What a guest is made of. */
interface GuestMachine {
  readonly memoryMb: number
  /** The folder of the host that the guest sees, and may write, as /run/shared. */
  readonly shared: string
  /** The first process that is ours; it sees the files of the host, read-only. */
  readonly initScript: string
  /** For the kernel's command line; NAME=value is in the environment of the first process. */
  readonly parameters: readonly string[]
}

interface GuestStart {
  readonly program: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}
