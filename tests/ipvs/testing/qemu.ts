/** Debian's kernel in QEMU: on any x86-64 machine, with the processor's help (kvm) or without (tcg). */
import { accessSync, constants, existsSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { GuestKernel } from './guest-kernel.ts'

const program = 'qemu-system-x86_64'
/** What get-guest-kernel.sh made. */
const kernelFolder = resolve(
  process.env['GUEST_KERNEL_FOLDER'] ?? fileURLToPath(new URL('../../../.cache/guest-kernel', import.meta.url)),
)

export const qemuKvm: GuestKernel = {
  ...qemu('kvm', 'host'),
  name: 'qemu-kvm',
  missing: () => kernelProblem() ?? kvmProblem(),
  // It takes two seconds, or forever: some machines have /dev/kvm and cannot use it.
  bootLimitMs: 30_000,
}

export const qemuTcg: GuestKernel = {
  ...qemu('tcg', 'max'),
  name: 'qemu-tcg',
  missing: kernelProblem,
  bootLimitMs: 240_000,
}

function qemu(accelerator: 'kvm' | 'tcg', processor: string): Pick<GuestKernel, 'programs' | 'start'> {
  return {
    programs: [[program, 'qemu-system-x86']],
    start: ({ memoryMb, shared, initScript, parameters }) => ({
      program,
      args: [
        ...'-nodefaults -no-user-config -display none -serial stdio'.split(' '),
        // A guest ends by a reset, which is at once; a power-off needs drivers.
        '-no-reboot',
        ...`-machine pc -accel ${accelerator} -cpu ${processor} -m ${memoryMb}`.split(' '),
        ...folder('host', '/', 'readonly=on,multidevs=remap'),
        ...folder('shared', shared, 'readonly=off'),
        '-kernel',
        join(kernelFolder, 'vmlinuz'),
        '-initrd',
        join(kernelFolder, 'initramfs'),
        '-append',
        [
          'console=ttyS0',
          'panic=-1',
          // On a busy machine the guest stands still now and then, and need not say so.
          'nowatchdog',
          'mitigations=off',
          'GUEST_OFF_KEY=b',
          `GUEST_INIT=${initScript}`,
          'GUEST_SHARED_MOUNT=9p:trans=virtio,version=9p2000.L,msize=1048576',
          `GUEST_MODULES=${realpathSync(join(kernelFolder, 'lib/modules'))}`,
          ...parameters,
        ].join(' '),
      ],
    }),
  }
}

/** A folder of the host for the guest to mount by its tag. */
function folder(tag: string, path: string, options: string): readonly string[] {
  const source = `local,id=${tag},path=${path},security_model=none,${options}`
  return ['-fsdev', source, '-device', `virtio-9p-pci,fsdev=${tag},mount_tag=${tag}`]
}

function kernelProblem(): string | undefined {
  // The guest runs the programs of the host.
  if (process.arch !== 'x64') return 'the machine is not x86-64'
  if (existsSync(join(kernelFolder, 'vmlinuz'))) return undefined
  return 'it has no kernel; tests/ipvs/testing/get-guest-kernel.sh gets one'
}

function kvmProblem(): string | undefined {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK)
    return undefined
  } catch {
    return '/dev/kvm cannot be used'
  }
}
