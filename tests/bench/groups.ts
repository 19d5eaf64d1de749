/** Every group that `npm run bench` knows: a new group is a file and a line here. */
import type { BenchGroup } from './bench-group.ts'
import { consoleGroup } from './console/console-group.ts'
import { coreGroup } from './core/core-group.ts'
import { ebpfGroup } from './ebpf/ebpf-group.ts'
import { iptablesDriftGroup } from './iptables/iptables-drift-group.ts'
import { iptablesGroup } from './iptables/iptables-group.ts'
import { ipvsGroup } from './ipvs/ipvs-group.ts'
import { kpngGroup } from './kpng/kpng-group.ts'
import { nftablesGroup } from './nftables/nftables-group.ts'
import { spreadingGroup } from './spreading/spreading-group.ts'
import { trafficGroup } from './traffic/traffic-group.ts'
import { userspaceClientAddressGroup } from './userspace/client-address-group.ts'
import { userspaceObservingGroup } from './userspace/observing-group.ts'
import { observabilityGroup } from './observability/observability-group.ts'
import { userspaceGroup } from './userspace/userspace-group.ts'
import { windowsGroup } from './windows/windows-group.ts'

export const groups: readonly BenchGroup[] = [
  coreGroup,
  iptablesGroup,
  iptablesDriftGroup,
  ipvsGroup,
  nftablesGroup,
  spreadingGroup,
  ebpfGroup,
  trafficGroup,
  userspaceGroup,
  userspaceObservingGroup,
  userspaceClientAddressGroup,
  kpngGroup,
  windowsGroup,
  observabilityGroup,
  consoleGroup,
]
