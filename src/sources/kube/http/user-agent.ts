import { arch, platform } from 'node:os'

/** Like kube-proxy's, in the words that Go and so every API audit log uses for platforms. */
export function userAgent(version: string): string {
  return `fairlead/${version} (${goPlatform[platform()] ?? platform()}/${goArch[arch()] ?? arch()})`
}

const goPlatform: Readonly<Record<string, string>> = { win32: 'windows' }
const goArch: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' }
