import { isLoopback } from '../../../net/ip.ts'
import { check } from '../check.ts'

export const nodeObject = check({
  name: 'node-object',
  title: 'the Node object of this node',
  systems: ['linux', 'win32', 'darwin'],
  needs: ['cluster'],
  isBeforeStart: false,
  concerns: ({ objects }) => objects.length === 0,
  finds: {
    'node-unknown': {
      severity: 'error',
      meaning: 'The cluster has no Node of this name, so no endpoint counts as local, and the zone is unknown.',
      fix: 'Give the name of the Node: --hostname-override=NAME (kubectl get nodes).',
    },
    'node-address-elsewhere': {
      severity: 'warning',
      meaning: 'No address of the Node object is an address of this machine: its node ports are looked for elsewhere.',
      fix: 'Check --hostname-override, --node-ip of the kubelet, and the addresses of the machine.',
    },
  },
  *run({ nodeName }, { cluster: { node, localAddresses } }, find) {
    if (node === undefined)
      yield find('node-unknown', { what: `There is no Node "${nodeName}".`, evidence: `no Node named ${nodeName}` })
    else if (node.ips.length > 0 && !node.ips.some((ip) => localAddresses.includes(ip)))
      yield find('node-address-elsewhere', {
        what: `The addresses of Node "${nodeName}" are not of this machine.`,
        evidence: `Node: ${node.ips.join(', ')}; machine: ${localAddresses
          .filter((ip) => !isLoopback(ip))
          .slice(0, 10)
          .join(', ')}`,
      })
  },
})
