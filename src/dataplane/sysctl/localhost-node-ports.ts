/** Makes node ports on 127.0.0.1 possible: without this setting the kernel drops what is translated from loopback. */
import { ensureSysctl } from './sysctl.ts'
import type { Sysctl } from './sysctl.ts'

/** Never sets it back to 0: others may need it, and we cannot know. */
export async function routeLocalnet(sysctl: Sysctl): Promise<void> {
  await ensureSysctl(sysctl, 'net/ipv4/conf/all/route_localnet', '1')
}
