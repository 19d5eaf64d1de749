/**
 * A Linux kernel as a process, which has IPVS where the machine's own kernel may not. It sees the files of the host, and
 * nothing else of it: no network, no devices. Within, commands run as root.
 */
import { chooseGuest } from './choose-guest.ts'
import type { GuestChoice } from './choose-guest.ts'
import type { GuestKernel, GuestKernelName } from './guest-kernel.ts'
import { missingPackages, runOnKernel } from './guest-machine.ts'
import type { GuestOptions, GuestResult } from './guest-machine.ts'
import { oncePerRun } from './once-per-run.ts'
import { qemuKvm, qemuTcg } from './qemu.ts'
import { userModeLinux } from './user-mode-linux.ts'

/** In the order in which they are tried. QEMU without the processor's help works everywhere. */
const kernels: readonly GuestKernel[] = [userModeLinux, qemuKvm, qemuTcg]

/** Why no guest can be started here, or undefined when one can. */
export async function guestProblem(): Promise<string | undefined> {
  const { name, passedOver } = await chosenGuest()
  return name === undefined ? passedOver : undefined
}

/** Runs the command in a new guest; `name` says on which kernel, unless the one that this run has chosen will do. */
export async function runInGuest(
  command: readonly string[],
  options: GuestOptions,
  name?: GuestKernelName,
): Promise<GuestResult> {
  const wanted = name ?? (await chosenGuest()).name
  const kernel = kernels.find((candidate) => candidate.name === wanted)
  if (kernel === undefined) throw new Error(`no guest can be started here: ${await guestProblem()}`)
  return runOnKernel(kernel, command, options)
}

/** Which kernel runs the guests of this run: GUEST_KERNEL, or the first that boots. Tried once for all test files. */
export async function chosenGuest(): Promise<GuestChoice> {
  return oncePerRun('guest', async () => chooseGuestHere(process.env['GUEST_KERNEL']))
}

/** The same for what needs the kernel of a distribution as it is: user-mode-linux has no nf_tables. */
export async function chosenQemu(): Promise<GuestChoice> {
  const usual = await chosenGuest()
  if (usual.name !== userModeLinux.name) return usual
  if (process.env['GUEST_KERNEL'] === usual.name) return { name: undefined, passedOver: `${usual.name}: no nf_tables` }
  return oncePerRun('guest-in-qemu', async () => chooseGuestHere(undefined, [qemuKvm, qemuTcg]))
}

/** Tries the kernels, which takes seconds. */
export async function chooseGuestHere(wanted?: string, among = kernels): Promise<GuestChoice> {
  const candidates = among.map((kernel) => ({ name: kernel.name, problem: async () => bootProblem(kernel) }))
  return chooseGuest(candidates, wanted)
}

/** Installed is not enough: user-mode-linux 6.1 dies on a processor with AMX, before it runs anything. */
async function bootProblem(kernel: GuestKernel): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'it needs Linux'
  const packages = missingPackages(kernel)
  if (packages.length > 0) return `not installed: ${packages.join(', ')}`
  const missing = kernel.missing()
  if (missing !== undefined) return missing
  const command = ['sh', '-c', 'modprobe ip_vs && exec "$0" -e ""', process.execPath]
  try {
    const { exitCode, output } = await runOnKernel(kernel, command, { timeoutMs: kernel.bootLimitMs })
    return exitCode === 0 ? undefined : `a first command failed: ${lastWords(output)}`
  } catch (error) {
    const [whatHappened = '', ...printed] = (error as Error).message.split('\n')
    return `${whatHappened} ${lastWords(printed.join('\n'))}`
  }
}

/** A kernel that dies prints pages; this line is the reason. */
function lastWords(printed: string): string {
  const lines = printed.split('\n').filter((line) => line.trim() !== '')
  return /Kernel panic.*/.exec(printed)?.[0] ?? lines.at(-1) ?? 'it says nothing'
}
