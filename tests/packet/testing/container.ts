import type { Container } from '../../testing/manifests.ts'
import { capabilityBits, limitedTo } from './limited-to.ts'
import type { Capability } from './limited-to.ts'

interface ContainerRights {
  readonly privileged?: boolean
  readonly readOnlyRootFilesystem?: boolean
  readonly capabilities?: { readonly add?: readonly string[] }
}

/**
 * Begins a command: what follows runs as in a container with these rights, as a runtime makes one. The root is read-only
 * but for the folder, and unless privileged, so are /proc/sys and /sys.
 */
export function containerOf(
  { securityContext: rights = {} }: Container & { readonly securityContext?: ContainerRights },
  folder: string,
): readonly string[] {
  if (rights.readOnlyRootFilesystem !== true) throw new Error('no container of ours writes to its root')
  const script = [
    'set -e',
    'mount --bind "$0" "$0"',
    'mount -t tmpfs tmpfs /run && touch /run/xtables.lock && mkdir /run/fairlead',
    'mount --bind / / && mount -o remount,bind,ro /',
    ...(rights.privileged === true
      ? []
      : ['/proc/sys', '/sys'].map((path) => `mount --rbind ${path} ${path} && mount -o remount,bind,ro ${path}`)),
    'exec "$@"',
  ].join('\n')
  const added = (rights.capabilities?.add ?? []).filter((name): name is Capability => name in capabilityBits)
  return ['unshare', '--mount', 'sh', '-c', script, folder, ...(rights.privileged === true ? [] : limitedTo(added))]
}
