/**
 * Where the files of a pod are when it runs as a HostProcess container of Windows, which sees the disks of its node. With
 * an older containerd (or an older Windows) the volumes of the pod are not at the paths that its manifest gives them,
 * but below the folder that `CONTAINER_SANDBOX_MOUNT_POINT` names.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

export type FindFile = (path: string) => string

/** Looks anew each time: a volume is filled when the kubelet comes round to it. */
export function mountedFileFinder(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): FindFile {
  const root = env['CONTAINER_SANDBOX_MOUNT_POINT'] ?? ''
  if (platform !== 'win32' || root === '') return (path) => path
  return (path) => {
    if (path === '' || existsSync(path)) return path
    const below = join(root, path.replace(/^[A-Za-z]:/, ''))
    // For messages: the path that the user has written.
    return existsSync(below) ? below : path
  }
}
