/** The kernelspace mode, and the userspace mode on Windows in its place. */
import { behaviours } from '../difference.ts'

const life = 'src/backends/kernelspace/behaviours/life-cycle.behaviours.test.ts'
const states = 'src/backends/kernelspace/behaviours/endpoint-states.behaviours.test.ts'
const families = 'src/backends/kernelspace/behaviours/dual-stack.behaviours.test.ts'
const errors = 'src/backends/kernelspace/behaviours/errors.behaviours.test.ts'
const cost = 'src/backends/kernelspace/behaviours/cost.behaviours.test.ts'

const kernelspace = behaviours({ from: ['kernelspace'], to: ['kernelspace'] }, [
  {
    name: 'hns-at-the-start',
    kubeProxy: 'Every load balancer of the node is deleted at the start, also those of others.',
    fairlead: 'What is right is taken over, and only what is ours is removed, after its replacement works.',
    action:
      'After the move, Get-HnsPolicyList should list only what you know: load balancers of kube-proxy that nobody needs stay.',
    rollback: ".\\fairlead.ps1 Remove -RestoreKubeProxy removes what is Fairlead's and starts kube-proxy.",
    shownBy: life,
  },
  {
    name: 'hns-listing',
    kubeProxy: 'All endpoints and load balancers of HNS are listed in every sync.',
    fairlead: 'HNS is asked for what the change needs; it is listed at the start, after a failure, and for drift.',
    shownBy: cost,
  },
  {
    name: 'hns-failed-load-balancer',
    kubeProxy: 'A load balancer for an external or load-balancer IP that fails is never tried again.',
    fairlead: 'It is tried again until it works.',
    shownBy: errors,
  },
  {
    name: 'hns-reference-counts',
    kubeProxy: 'Reference counts of endpoints grow with each retry, and wrap around.',
    fairlead: 'The Services that use an endpoint are remembered by name.',
    shownBy: life,
  },
  {
    name: 'hns-deleted-by-others',
    kubeProxy: 'A load balancer that somebody deletes stays away.',
    fairlead: 'It is back within 10 s.',
    shownBy: 'src/backends/kernelspace/drift-watch.test.ts',
  },
  {
    name: 'hns-network-question-fails',
    kubeProxy: 'Any failed question about the network takes all load balancers away.',
    fairlead: 'Only a network that is gone, or another one, does.',
    shownBy: errors,
  },
  {
    name: 'hns-restart',
    kubeProxy: 'After a restart of HNS it says "already exists" for ever.',
    fairlead: 'What is there is taken over or replaced.',
    shownBy: errors,
  },
  {
    name: 'hns-failed-deletions',
    kubeProxy: 'Failed deletions are tried after the new load balancers, which then fail too.',
    fairlead: 'They are tried before.',
    shownBy: life,
  },
  {
    name: 'hns-ipv6-health-checks',
    kubeProxy: 'IPv6 health checks are lost with each change.',
    fairlead: 'They stay.',
    shownBy: families,
  },
  {
    name: 'hns-node-ports-while-ending',
    kubeProxy: 'While all endpoints end, node ports stay as they were (where HNS can change in place).',
    fairlead: 'They are closed.',
    shownBy: states,
  },
  {
    name: 'hns-endpoint-of-the-cluster-ip',
    kubeProxy: 'In overlay networks each change of endpoints replaces the endpoint of the cluster IP.',
    fairlead: 'It stays.',
    shownBy: 'src/backends/kernelspace/behaviours/overlay.behaviours.test.ts',
  },
  {
    name: 'hns-incomplete-object',
    kubeProxy: 'An HNS object without ports or addresses ends the process.',
    fairlead: 'It is skipped.',
    shownBy: 'src/backends/kernelspace/balancer-reader.test.ts',
  },
  {
    name: 'hns-unready-endpoints-elsewhere',
    kubeProxy: 'Unready endpoints of other nodes are used, if this node has none and the policy is Local.',
    fairlead: 'Each list is judged by itself.',
    shownBy: states,
  },
  {
    name: 'hns-topology-hints',
    kubeProxy: 'Topology hints are ignored.',
    fairlead: 'They are respected, as on Linux.',
    shownBy: 'src/core/routing/kernelspace-rules.test.ts',
  },
  {
    name: 'hns-cleanup',
    kubeProxy: '--cleanup and --init-only fail.',
    fairlead: "--cleanup removes what is Fairlead's, --dry-run lists it; --init-only checks whether the mode can run.",
    shownBy: 'src/cli/cleanup/windows-cleanup.test.ts',
  },
])

const userspaceOnWindows = behaviours({ from: ['kernelspace'], to: ['userspace'] }, [
  {
    name: 'windows-relay',
    attention: 'decide',
    kubeProxy: 'HNS moves the packets, and goes on while kube-proxy is away.',
    fairlead:
      "Addresses of Services are added to an interface and a process relays: when it ends, connections are cut. Pods see the node's address. No SCTP.",
    action: 'Use it only where HNS cannot do what you need.',
    rollback: '.\\fairlead.ps1 Remove -RestoreKubeProxy removes the addresses and starts kube-proxy.',
    shownBy: 'src/cli/modes/windows-userspace-mode.test.ts',
  },
])

export const onWindows = { kernelspace, userspaceOnWindows }
