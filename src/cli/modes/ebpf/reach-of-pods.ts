/** Whether sockets of pods can be ended: their network namespaces have to be seen, and entered. */
import { lackedCapabilities } from '../../../dataplane/capabilities.ts'
import { seesNamedNamespaces, seesNamespacesOfPods } from '../../../dataplane/ebpf/places.ts'
import type { PlaceFiles } from '../../../dataplane/ebpf/places.ts'
import type { Sockets } from '../../../dataplane/sock-diag/sockets.ts'

/** Why not, with the way out. Undefined where nothing speaks against it: what is not seen yet shows when sockets end. */
export async function whyPodsAreOutOfReach(
  files: PlaceFiles,
  sockets: Pick<Sockets, 'reach'>,
  lacked = lackedCapabilities,
): Promise<string | undefined> {
  if (!(await seesNamespacesOfPods(files)))
    return 'neither /proc nor /run/netns of the host is here: mount /run/netns with mountPropagation HostToContainer, or set hostPID'
  const reach = await sockets.reach()
  switch (reach) {
    case 'others':
    case 'alone':
      return undefined
    case 'hidden':
      // Some hide from everybody. And names that come later need no process that shows its own.
      return lacked(['CAP_SYS_PTRACE']).length === 0 || (await seesNamedNamespaces(files))
        ? undefined
        : 'processes hide their network namespaces: give CAP_SYS_PTRACE, or mount /run/netns of the host'
    case 'closed':
      return 'the network namespaces that are here may not be entered: a security module forbids it (SELinux, AppArmor), or a user namespace'
    case 'forbidden':
      return 'network namespaces may not be entered: allow setns, which a seccomp profile or RestrictNamespaces= of systemd forbids'
    default:
      return reach satisfies never
  }
}
