import { routesLocalhost } from '../../../config/proxy-config.ts'
import { nodePortAddresses } from '../../../core/node/node-port-addresses.ts'
import { check } from '../check.ts'

export const localhostNodePorts = check({
  name: 'localhost-node-ports',
  title: 'node ports on 127.0.0.1',
  needs: ['settings', 'daemon'],
  isBeforeStart: false,
  concerns: ({ config }) => config.mode !== 'kernelspace',
  finds: {
    'route-localnet-off': {
      severity: 'warning',
      meaning: 'Node ports on 127.0.0.1 are configured, and the kernel does not route from loopback.',
      fix: 'sysctl -w net.ipv4.conf.all.route_localnet=1, or turn them off with --iptables-localhost-nodeports=false.',
    },
    'route-localnet-on': {
      severity: 'note',
      meaning:
        'Neighbours can send packets to 127.0.0.1 of this node (CVE-2020-8558), and this mode does not need that.',
      fix: 'sysctl -w net.ipv4.conf.all.route_localnet=0, unless another program needs it.',
    },
  },
  *run({ config }, { settings, daemon }, find) {
    const isNeeded =
      config.mode === 'iptables' &&
      routesLocalhost(config) &&
      nodePortAddresses(config.nodePortAddresses, 'ipv4').containsLoopback
    const value = settings.value('net/ipv4/conf/all/route_localnet')
    const evidence = `net.ipv4.conf.all.route_localnet = ${value}`
    if (isNeeded && value === '0' && daemon.kind === 'runs')
      yield find('route-localnet-off', { what: 'Node ports do not answer on 127.0.0.1.', evidence })
    if (!isNeeded && value === '1')
      yield find('route-localnet-on', { what: 'The kernel routes packets from and to 127.0.0.0/8.', evidence })
  },
})
