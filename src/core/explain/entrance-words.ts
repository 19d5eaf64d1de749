import type { Entrance } from '../route.ts'

export const entranceWords: Readonly<Record<Entrance['kind'], string>> = {
  'cluster-ip': 'cluster IP',
  'external-ip': 'external IP',
  'load-balancer-ip': 'load-balancer IP',
  'node-port': 'node port',
}
