/** Makes node ports on 127.0.0.1 work: without this setting the kernel drops packets that NAT redirects from loopback. */
import { ensureSysctl } from './sysctl.ts'
import type { Sysctl } from './sysctl.ts'

/** Never set back to 0, because other programs may need it. */
export async function routeLocalnet(sysctl: Sysctl): Promise<void> {
  await ensureSysctl(sysctl, 'net/ipv4/conf/all/route_localnet', '1')
}
