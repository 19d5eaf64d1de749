import { splitHostPort } from '../../../config/host-port.ts'
import { isUnspecified } from '../../../net/ip.ts'
import { check } from '../check.ts'
import type { Listener } from '../evidence/listeners.ts'
import { listenersOfOthers } from './ports.ts'
import { shown } from './two-proxies.ts'

/** Once it runs, the proxy has the ports itself. */
export const ownPorts = check({
  name: 'own-ports',
  title: 'the health and metrics ports of the proxy',
  needs: ['listeners', 'daemon', 'processes'],
  finds: {
    'health-port-taken': {
      severity: 'error',
      meaning: 'Another program has the health port: load balancers and the kubelet ask it instead of the proxy.',
      fix: 'Stop the other program (often kube-proxy), or set --healthz-bind-address.',
    },
    'metrics-port-taken': {
      severity: 'warning',
      meaning: 'Another program has the metrics port.',
      fix: 'Stop the other program (often kube-proxy), or set --metrics-bind-address.',
    },
  },
  *run({ config, isBeforeStart }, { listeners, daemon, processes }, find) {
    if (!isBeforeStart && daemon.kind === 'runs') return
    const others = listenersOfOthers(listeners, processes)
    for (const [name, address, what] of [
      ['health-port-taken', config.healthzBindAddress, 'The health port'],
      ['metrics-port-taken', config.metricsBindAddress, 'The metrics port'],
    ] as const) {
      const listener = others.find((one) => one.protocol === 'TCP' && collides(one, address))
      if (listener === undefined) continue
      const answer = daemon.kind === 'stranger' && name === 'health-port-taken' ? `; it answers ${daemon.answer}` : ''
      const owner = listener.owner === undefined ? 'a process that cannot be seen from here' : shown(listener.owner)
      yield find(name, {
        what: `${what} ${address} is taken.`,
        evidence: `${listener.ip}:${listener.port}, ${owner}${answer}`,
      })
    }
  },
})

function collides({ ip, port }: Listener, address: string): boolean {
  const { host = '', port: wanted = '' } = splitHostPort(address) ?? {}
  return port === Number(wanted) && (ip === host || isUnspecified(ip) || host === '' || isUnspecified(host))
}
