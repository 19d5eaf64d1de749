import { arch, platform } from 'node:os'

/** Like kube-proxy's: platforms have Go's names, as in all API audit logs. */
export function userAgent(version: string): string {
  return `fairlead/${version} (${goPlatform[platform()] ?? platform()}/${goArch[arch()] ?? arch()})`
}

const goPlatform: Readonly<Record<string, string>> = { win32: 'windows' }
const goArch: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' }
