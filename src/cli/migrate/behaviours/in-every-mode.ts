/** What differs whatever the modes are. */
import { allModes, allOurModes, behaviours, linuxModes, ourLinuxModes } from '../difference.ts'

const everywhere = behaviours({ from: allModes, to: allOurModes }, [
  {
    name: 'unknown-fields',
    kubeProxy: 'An unknown or duplicate field in the configuration file is a warning, and the field is ignored.',
    fairlead: 'It is an error with the path and the line, and Fairlead does not start.',
    shownBy: 'src/config/file/decode-config-file.test.ts',
  },
  {
    name: 'flags-beside-a-file',
    kubeProxy: 'Flags that --config overrides are ignored silently.',
    fairlead: 'They are ignored with a warning.',
    shownBy: 'src/config/daemon/parse-daemon-command-line.test.ts',
  },
  {
    name: 'several-documents',
    kubeProxy: 'Of several YAML documents in the configuration file, all but the first are ignored silently.',
    fairlead: 'One of kind FairleadConfiguration has options of its own; others are ignored with a warning.',
    shownBy: 'src/config/file/decode-config-file.test.ts',
  },
  {
    name: 'long-minimum-sync-period',
    kubeProxy: 'With a minimum sync period above 1h, iptables and nftables mode crash.',
    fairlead: 'It is refused.',
    shownBy: 'src/config/validation/validate-config.test.ts',
  },
  {
    name: 'large-log-buffer',
    kubeProxy: 'A log buffer above 2^53 bytes, such as 12E, is accepted.',
    fairlead: 'It is refused.',
    shownBy: 'src/config/flags/flag-types.test.ts',
  },
  {
    name: 'address-of-two-services',
    kubeProxy: 'Where two Services name the same address, the first or the last rule has it.',
    fairlead:
      'It is decided once for all modes: cluster IP, node port, load-balancer IP, external IP, then the older Service.',
    action:
      'Look at fairlead_service_notices in /metrics after the move: each is a Service that does not get an address.',
    shownBy: 'tests/packet/address-claims.test.ts',
  },
  {
    name: 'addresses-nobody-gets',
    kubeProxy: "A Service may name loopback, link-local, multicast or the API server's own address.",
    fairlead: 'Such addresses are refused, with the Service and the field in the log.',
    action: 'Look at fairlead_service_notices in /metrics after the move.',
    shownBy: 'src/core/routing/address-claims.test.ts',
  },
  {
    name: 'unreadable-source-range',
    kubeProxy: 'A source range that cannot be read opens the load balancer to everybody.',
    fairlead: 'It allows nobody.',
    action: 'Mend the loadBalancerSourceRanges that the log names.',
    shownBy: 'src/core/routing/router.test.ts',
  },
  {
    name: 'event-reporter',
    kubeProxy: 'Events name kube-proxy as the reporting controller.',
    fairlead: 'They name fairlead. Reasons and actions are the same.',
    action: 'Alerts that filter on the reporter need the new name.',
    shownBy: 'docs/kubernetes-source.md',
  },
  {
    name: 'library-metrics',
    kubeProxy: '/metrics has those of Go (go_*) and of its libraries (apiserver_* …).',
    fairlead: 'It has those of Node.js (nodejs_*) instead. The kubeproxy_* ones are the same.',
    action: 'Look for go_* and other library metrics in dashboards and alerts of kube-proxy.',
    shownBy: 'docs/observability.md',
  },
  {
    name: 'health-of-a-removed-service',
    kubeProxy: 'A health check for a Service that has just been removed gets an empty 200.',
    fairlead: 'It gets 503.',
    shownBy: 'src/observe/http/service-health-server.test.ts',
  },
  {
    name: 'changed-file',
    kubeProxy: 'A write to the configuration file ends the process; the symlink swap of a ConfigMap is not noticed.',
    fairlead:
      'A change is applied while it runs, as far as the field allows; the rest waits for a restart. --config-change=exit ends the process.',
    shownBy: 'src/cli/daemon/reload/config-reload.test.ts',
  },
])

const onLinux = behaviours({ from: linuxModes, to: ourLinuxModes }, [
  {
    name: 'refused-rule',
    from: ['iptables', 'nftables'],
    kubeProxy: 'A rule or element that the kernel refuses stops all updates.',
    fairlead: 'Its Service is found, left out and reported, and tried again; all others are programmed.',
    action: 'Look for "route not programmed" in the log.',
    shownBy: 'tests/packet/failures.test.ts',
  },
  {
    name: 'first-programmed',
    from: ['nftables', 'ipvs', 'userspace'],
    kubeProxy: 'Services are programmed in random order.',
    fairlead: 'The API server and cluster DNS come first.',
    shownBy: 'src/core/sync/programming-order.ts',
  },
  {
    name: 'failed-sync',
    from: ['iptables', 'nftables', 'ipvs'],
    kubeProxy: 'A failed sync loses its latency samples and its conntrack clean-up.',
    fairlead: 'Both are carried over to the next sync.',
    shownBy: 'src/core/sync/sync-runner.test.ts',
  },
  {
    name: 'order-of-a-mode-switch',
    kubeProxy: 'A start in nftables mode removes the rules of other modes, then programs its own.',
    fairlead: 'It programs its own, then removes the others, of every mode.',
    shownBy: 'tests/packet/takeover.test.ts',
  },
])

/** `kube-proxy --cleanup` and `fairlead --cleanup`. */
const cleanup = behaviours({ from: linuxModes, to: ourLinuxModes }, [
  {
    name: 'cleanup-lists',
    kubeProxy: '--cleanup says nothing about what it removes.',
    fairlead: 'It lists what it removes; with --dry-run it only lists.',
    shownBy: 'src/cli/cleanup/leftovers-on-node.test.ts',
  },
  {
    name: 'cleanup-after-ipvs',
    kubeProxy: 'After ipvs mode the first --cleanup fails, and the KUBE-6-… sets stay.',
    fairlead: 'One run is enough, and the sets go.',
    shownBy: 'src/backends/ipvs/leftovers.test.ts',
  },
  {
    name: 'cleanup-of-foreign-virtual-servers',
    kubeProxy: '--cleanup removes the IPVS virtual servers of other programs too.',
    fairlead: 'They stay.',
    shownBy: 'src/backends/ipvs/leftovers.test.ts',
  },
  {
    name: 'cleanup-of-old-chains',
    kubeProxy: '--cleanup leaves the chains of the userspace mode and of old releases.',
    fairlead: 'They are removed.',
    shownBy: 'src/cli/cleanup/real-cleanup.test.ts',
  },
  {
    name: 'cleanup-of-kube-firewall',
    kubeProxy: '--cleanup leaves KUBE-FIREWALL, also where no kubelet uses it.',
    fairlead: 'Without a kubelet it is removed.',
    shownBy: 'src/cli/cleanup/find-leftovers.test.ts',
  },
  {
    name: 'cleanup-of-both-variants',
    kubeProxy: '--cleanup looks at one variant of iptables.',
    fairlead: 'It cleans both, nft and legacy.',
    shownBy: 'src/cli/cleanup/real-cleanup.test.ts',
  },
  {
    name: 'cleanup-beside-foreign-rules',
    kubeProxy: 'A foreign rule that jumps to a chain of kube-proxy keeps all chains of that table.',
    fairlead: 'Only that chain stays, empty, and the rule is named.',
    shownBy: 'src/cli/cleanup/real-cleanup.test.ts',
  },
])

export const inEveryMode = { everywhere, onLinux, cleanup }
