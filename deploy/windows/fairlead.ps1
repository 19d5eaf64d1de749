#Requires -Version 5.1
#Requires -RunAsAdministrator
<#
.SYNOPSIS
Installs, upgrades or removes Fairlead on a Windows node.

.DESCRIPTION
Install   copies the package, makes the service or services, opens the firewall, starts, and waits until Fairlead is healthy.
          Running it again changes what differs, and nothing else.
Upgrade   installs another version beside the running one and switches over. If that one does not become healthy, the old one
          comes back. The state directory and all settings stay.
Remove    stops Fairlead, takes its objects out of the node (fairlead --cleanup), and removes services, rules and files.
Status    says what is installed and whether it is healthy.

-WhatIf says what would be done, and does nothing.

.EXAMPLE
.\fairlead.ps1 Install -Package C:\fairlead -Kubeconfig C:\k\config -NetworkName cbr0

One Windows service, in kernelspace mode.

.EXAMPLE
.\fairlead.ps1 Install -Package C:\fairlead -As Nssm -Nssm C:\k\nssm.exe -Kubeconfig C:\k\config -NetworkName cbr0

Two services under NSSM: fairlead-core watches the API server, fairlead-backend programs the node.

.EXAMPLE
.\fairlead.ps1 Install -Package C:\fairlead -As TwoServices -Config C:\k\config.yaml -Kubeconfig C:\k\config

Two Windows services without NSSM. The backend takes its settings from a KubeProxyConfiguration.

.EXAMPLE
.\fairlead.ps1 Upgrade -Package C:\fairlead-0.2.0

.EXAMPLE
.\fairlead.ps1 Remove -RestoreKubeProxy
#>
[CmdletBinding(SupportsShouldProcess = $true)]
param(
    [Parameter(Mandatory = $true, Position = 0)]
    [ValidateSet('Install', 'Upgrade', 'Remove', 'Status')]
    [string]$Action,

    # The folder that package.sh makes: node.exe, bin, dist, node_modules.
    [string]$Package = '',

    # Service: one Windows service. TwoServices: a core, and a backend that depends on it. Nssm: the same two, run by NSSM.
    [ValidateSet('Service', 'TwoServices', 'Nssm')]
    [string]$As = 'Service',
    [string]$Nssm = 'nssm.exe',

    [ValidateSet('kernelspace', 'userspace')]
    [string]$Mode = 'kernelspace',

    # A KubeProxyConfiguration. Then Mode, Kubeconfig (of one service), NetworkName, SourceVip and EnableDsr must be in it.
    [string]$Config = '',
    [string]$Kubeconfig = '',
    [string]$NetworkName = '',
    [string]$SourceVip = '',
    [switch]$EnableDsr,
    # In userspace mode: the interface that gets the addresses of Services, if it is not "vEthernet (HNS Internal NIC)".
    [string]$ServiceInterface = '',
    [string]$NodeName = '',
    # Addresses of this node. Needed with two services where the node has more than one interface.
    [string[]]$NodeAddress = @(),

    # Services that must run first, such as the one of the CNI.
    [string[]]$DependsOn = @(),
    # Stop and disable the service kube-proxy. Without it, a running kube-proxy is an error.
    [switch]$ReplaceKubeProxy,
    # With Remove: enable and start the service kube-proxy again.
    [switch]$RestoreKubeProxy,
    # With Remove: delete the state directory and the logs too.
    [switch]$Purge,

    [string]$Root = (Join-Path $env:ProgramFiles 'Fairlead'),
    [string]$StateDir = (Join-Path $env:ProgramData 'fairlead'),
    # With Config: the ports that it names.
    [int]$HealthPort = 10256,
    [int]$MetricsPort = 10249,
    [int]$WaitSeconds = 180
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

# Only administrators can make a pipe with this prefix, so nobody else can pose as the core.
$Pipe = 'npipe:////./pipe/ProtectedPrefix/Administrators/fairlead'
$LogDir = Join-Path $StateDir 'logs'
$SettingsFile = Join-Path $StateDir 'install.json'
$FirewallGroup = 'Fairlead'

# ---------------------------------------------------------------- what is run

function Get-DaemonArguments {
    param($Settings)
    $arguments = @(Get-ModeArguments $Settings)
    if ($Settings.Config -eq '') {
        $arguments += "--proxy-mode=$($Settings.Mode)"
        if ($Settings.Kubeconfig -ne '') { $arguments += "--kubeconfig=$($Settings.Kubeconfig)" }
    }
    if ($Settings.NodeName -ne '') { $arguments += "--hostname-override=$($Settings.NodeName)" }
    return $arguments
}

function Get-CoreArguments {
    param($Settings)
    $arguments = @('kube', 'to-api', "--listen=$Pipe")
    $arguments += '--with-service-annotations=preserve-destination,winProxyOptimization'
    $arguments += '--exportMetrics=127.0.0.1:10247'
    if ($Settings.Kubeconfig -ne '') { $arguments += "--kubeconfig=$($Settings.Kubeconfig)" }
    return $arguments
}

function Get-BackendArguments {
    param($Settings)
    $sink = 'to-winkernel'
    if ($Settings.Mode -eq 'userspace') { $sink = 'to-winuserspace' }
    $arguments = @('api', $sink, "--api=$Pipe")
    $arguments += Get-ModeArguments $Settings
    if ($Settings.NodeName -ne '') { $arguments += "--node-name=$($Settings.NodeName)" }
    return $arguments
}

# What a mode needs, in whichever process it runs.
function Get-ModeArguments {
    param($Settings)
    $arguments = @("--state-dir=$StateDir")
    foreach ($address in $Settings.NodeAddress) { $arguments += "--node-address=$address" }
    if ($Settings.Config -ne '') { return $arguments + "--config=$($Settings.Config)" }
    $arguments += "--healthz-bind-address=0.0.0.0:$($Settings.HealthPort)"
    $arguments += "--metrics-bind-address=127.0.0.1:$($Settings.MetricsPort)"
    if ($Settings.Mode -eq 'userspace') { return $arguments }
    if ($Settings.NetworkName -ne '') { $arguments += "--network-name=$($Settings.NetworkName)" }
    if ($Settings.SourceVip -ne '') { $arguments += "--source-vip=$($Settings.SourceVip)" }
    if ($Settings.EnableDsr) { $arguments += '--enable-dsr' }
    return $arguments
}

# NSSM is the service itself, and writes what the process says to a file.
function Get-ServiceArguments {
    param($Settings, [string]$Name)
    if ($Settings.As -eq 'Nssm') { return @() }
    return @('--windows-service', "--log-file=$LogDir\$Name.log")
}

function Get-CleanupArguments {
    return @('--cleanup', "--state-dir=$StateDir")
}

# The services of an installation, in the order in which they start.
function Get-ServicePlan {
    param($Settings)
    # Not on hns: whoever restarts it would stop Fairlead for good. Fairlead waits for it by itself.
    $after = @($Settings.DependsOn)
    if ($Settings.As -eq 'Service') {
        return @(New-ServicePlan $Settings 'fairlead' 'Fairlead (Kubernetes service proxy)' (Get-DaemonArguments $Settings) $after)
    }
    return @(
        (New-ServicePlan $Settings 'fairlead-core' 'Fairlead core (watches the API server)' (Get-CoreArguments $Settings) @()),
        (New-ServicePlan $Settings 'fairlead-backend' 'Fairlead backend (programs this node)' (Get-BackendArguments $Settings) (@('fairlead-core') + $after))
    )
}

function New-ServicePlan {
    param($Settings, [string]$Name, [string]$Display, [string[]]$Arguments, [string[]]$DependsOn)
    return [pscustomobject]@{
        Name = $Name; Display = $Display; DependsOn = @($DependsOn)
        Arguments = @($Arguments) + @(Get-ServiceArguments $Settings $Name)
    }
}

# ---------------------------------------------------------------- small tools

# Everything that changes the node goes through here, so that -WhatIf names it and leaves it.
function Invoke-Step {
    param([string]$Text, [scriptblock]$Body)
    if ($PSCmdlet.ShouldProcess($env:COMPUTERNAME, $Text)) {
        Write-Host "  $Text"
        & $Body | Out-Null
    }
}

# Runs a program; its output is text, and an exit code other than 0 is an error.
function Invoke-Program {
    param([string]$File, [string[]]$Arguments)
    # Windows PowerShell makes an error of every line that a program writes to stderr, once it is redirected.
    $ErrorActionPreference = 'Continue'
    $lines = @(& $File @Arguments 2>&1 | ForEach-Object { "$_" })
    $code = $LASTEXITCODE
    if ($code -ne 0) {
        throw "$File $($Arguments -join ' ') ended with $code. It said: $($lines -join ' | ')"
    }
    return $lines
}

# As programs take command lines apart: quotes around what has spaces, and no backslash right before a closing quote.
function Join-CommandLine {
    param([string[]]$Words)
    $quoted = foreach ($word in $Words) {
        if ($word -match '"') { throw "An argument must not have a quotation mark in it: $word" }
        if ($word -match '\s' -or $word -eq '') { '"' + ($word -replace '(\\+)$', '$1$1') + '"' } else { $word }
    }
    return ($quoted -join ' ')
}

function Get-ServiceOrNull {
    param([string]$Name)
    return Get-Service -Name $Name -ErrorAction SilentlyContinue
}

function Get-ServiceConfig {
    param([string]$Name)
    return Get-CimInstance -ClassName Win32_Service -Filter "Name='$Name'"
}

# The body of an answer, or $null. It does not use the proxy that the machine may have.
function Get-HttpText {
    param([string]$Url)
    try {
        $request = [System.Net.WebRequest]::Create($Url)
        $request.Proxy = $null
        $request.Timeout = 3000
        $response = $request.GetResponse()
        try {
            $reader = New-Object System.IO.StreamReader($response.GetResponseStream())
            return $reader.ReadToEnd()
        }
        finally { $response.Close() }
    }
    catch {
        # An answer such as 503 must be closed, too: there is room for two connections only.
        $failure = $_.Exception.GetBaseException()
        if ($failure -is [System.Net.WebException] -and $null -ne $failure.Response) { $failure.Response.Close() }
        return $null
    }
}

# Healthy: it answers 200, and has programmed the node at least once since it started.
function Test-Healthy {
    param($Settings)
    if ($null -eq (Get-HttpText "http://127.0.0.1:$($Settings.HealthPort)/livez")) { return $false }
    $metrics = Get-HttpText "http://127.0.0.1:$($Settings.MetricsPort)/metrics"
    return "$metrics" -match '(?m)^kubeproxy_sync_proxy_rules_last_timestamp_seconds(\{[^}]*\})? [1-9]'
}

function Wait-Healthy {
    param($Settings)
    Write-Host "  wait until Fairlead is healthy (at most $WaitSeconds s)"
    $deadline = (Get-Date).AddSeconds($WaitSeconds)
    $plan = @(Get-ServicePlan $Settings)
    while ((Get-Date) -lt $deadline) {
        $running = @($plan | Where-Object { (Get-Service -Name $_.Name).Status -eq 'Running' })
        if ($running.Count -eq $plan.Count -and (Test-Healthy $Settings)) { return $true }
        Start-Sleep -Seconds 2
    }
    return $false
}

function Write-LogTail {
    $files = @(Get-ChildItem -Path $LogDir -Filter '*.log' -File -ErrorAction SilentlyContinue)
    foreach ($file in $files) {
        Write-Host "---- the end of $($file.FullName)"
        Get-Content -Path $file.FullName -Tail 20 | ForEach-Object { Write-Host $_ }
    }
}

# ---------------------------------------------------------------- settings

# A service has another working directory than we have.
function Get-FullPath {
    param([string]$Path)
    if ($Path -eq '') { return '' }
    return $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Path)
}

function New-Settings {
    return [pscustomobject]@{
        As = $As; Nssm = $Nssm; Mode = $Mode; Config = (Get-FullPath $Config); Kubeconfig = (Get-FullPath $Kubeconfig)
        NetworkName = $NetworkName; SourceVip = $SourceVip; EnableDsr = [bool]$EnableDsr
        ServiceInterface = $ServiceInterface; NodeName = $NodeName.ToLowerInvariant(); NodeAddress = @($NodeAddress); DependsOn = @($DependsOn)
        HealthPort = $HealthPort; MetricsPort = $MetricsPort; Version = ''; KubeProxyStart = ''
    }
}

function Read-Settings {
    if (-not (Test-Path -LiteralPath $SettingsFile)) { return $null }
    $settings = Get-Content -LiteralPath $SettingsFile -Raw | ConvertFrom-Json
    # A list of one may come back as a single value.
    $settings.NodeAddress = @($settings.NodeAddress | Where-Object { $null -ne $_ })
    $settings.DependsOn = @($settings.DependsOn | Where-Object { $null -ne $_ })
    return $settings
}

function Save-Settings {
    param($Settings)
    Invoke-Step "remember the settings in $SettingsFile" {
        ConvertTo-Json -InputObject $Settings -Depth 4 | Set-Content -LiteralPath $SettingsFile -Encoding UTF8
    }
}

# ---------------------------------------------------------------- files

function Get-PackageVersion {
    if ($Package -eq '') { throw "$Action needs -Package: the folder that package.sh makes" }
    foreach ($part in 'node.exe', 'bin\fairlead.js', 'dist\cli\main.js', 'node_modules\koffi', 'package.json') {
        if (-not (Test-Path -LiteralPath (Join-Path $Package $part))) {
            throw "$Package is no package of Fairlead for Windows: there is no $part. Make one with package.sh"
        }
    }
    $manifest = Get-Content -LiteralPath (Join-Path $Package 'package.json') -Raw | ConvertFrom-Json
    return [string]$manifest.version
}

function Get-VersionFolder {
    param([string]$Version)
    return Join-Path (Join-Path $Root 'versions') $Version
}

# A copy that was interrupted has no mark, and is made anew.
function Copy-Package {
    param([string]$Version)
    $folder = Get-VersionFolder $Version
    $mark = Join-Path $folder '.complete'
    if (Test-Path -LiteralPath $mark) { return }
    Invoke-Step "copy Fairlead $Version to $folder" {
        if (Test-Path -LiteralPath $folder) { Remove-Item -LiteralPath $folder -Recurse -Force }
        New-Item -ItemType Directory -Path $folder -Force
        Copy-Item -Path (Join-Path $Package '*') -Destination $folder -Recurse -Force
        New-Item -ItemType File -Path $mark -Force
    }
}

function Remove-OtherVersions {
    param([string[]]$Kept)
    $folder = Join-Path $Root 'versions'
    foreach ($other in @(Get-ChildItem -Path $folder -Directory -ErrorAction SilentlyContinue)) {
        if ($Kept -contains $other.Name) { continue }
        Invoke-Step "remove $($other.FullName)" { Remove-Item -LiteralPath $other.FullName -Recurse -Force }
    }
}

# What is in the state directory decides what is programmed, so it belongs to the system and to administrators alone.
function Initialize-StateDir {
    Invoke-Step "make $StateDir, for the system and administrators only" {
        New-Item -ItemType Directory -Path $LogDir -Force
        Invoke-Program 'icacls.exe' @(
            $StateDir, '/inheritance:r', '/grant:r', '*S-1-5-18:(OI)(CI)F', '/grant:r', '*S-1-5-32-544:(OI)(CI)F')
    }
}

# ---------------------------------------------------------------- services

function Get-ProgramLine {
    param([string]$Version, [string[]]$Arguments)
    $folder = Get-VersionFolder $Version
    # Always in quotes: a path with spaces and without quotes could start another program.
    return '"' + (Join-Path $folder 'node.exe') + '" "' + (Join-Path $folder 'bin\fairlead.js') + '" ' +
        (Join-CommandLine $Arguments)
}

# Variables of the environment, as NAME=VALUE.
function Get-Environment {
    param($Settings)
    if ($Settings.ServiceInterface -eq '') { return @() }
    return @("INTERFACE_TO_ADD_SERVICE_IP=$($Settings.ServiceInterface)")
}

function Set-NativeService {
    param($Settings, $Service, [string]$Version)
    $name = $Service.Name
    $line = Get-ProgramLine $Version $Service.Arguments
    $existing = Get-ServiceConfig $name
    if ($null -eq $existing) {
        Invoke-Step "make the service $name" {
            $options = @{
                Name = $name; DisplayName = $Service.Display; BinaryPathName = $line; StartupType = 'Automatic'
                Description = 'Makes the Services of the Kubernetes cluster reachable on this node.'
            }
            New-Service @options
        }
    }
    elseif ($existing.PathName -cne $line) {
        Invoke-Step "let the service $name run $line" {
            $result = Invoke-CimMethod -InputObject $existing -MethodName Change -Arguments @{ PathName = $line }
            if ($result.ReturnValue -ne 0) { throw "The command line of $name cannot be changed: error $($result.ReturnValue)" }
        }
    }
    Invoke-Step "let $name start late, and start again after a failure" {
        $after = '/'
        if ($Service.DependsOn.Count -gt 0) { $after = $Service.DependsOn -join '/' }
        Invoke-Program 'sc.exe' @('config', $name, 'start=', 'delayed-auto', 'depend=', $after)
        Invoke-Program 'sc.exe' @(
            'failure', $name, 'reset=', '3600', 'actions=', 'restart/5000/restart/10000/restart/30000')
        # Also when it reports an error itself, as it does after a change of its configuration file.
        Invoke-Program 'sc.exe' @('failureflag', $name, '1')
        # How long Windows waits for it when the machine is shut down. Read when Windows starts.
        $key = "HKLM:\SYSTEM\CurrentControlSet\Services\$name"
        Set-ItemProperty -Path $key -Name PreshutdownTimeout -Type DWord -Value 40000
        $environment = [string[]]@(Get-Environment $Settings)
        if ($environment.Count -gt 0) { Set-ItemProperty -Path $key -Name Environment -Type MultiString -Value $environment }
        else { Remove-ItemProperty -Path $key -Name Environment -ErrorAction SilentlyContinue }
    }
}

function Set-NssmService {
    param($Settings, $Service, [string]$Version)
    $name = $Service.Name
    $folder = Get-VersionFolder $Version
    $program = Join-Path $folder 'node.exe'
    if ($null -eq (Get-ServiceOrNull $name)) {
        Invoke-Step "make the service $name" { Invoke-Program $Settings.Nssm @('install', $name, $program) }
    }
    # Quotes around the script would be lost on the way to NSSM, so it is named relative to its folder.
    $parameters = Join-CommandLine (@('bin\fairlead.js') + $Service.Arguments)
    if ($parameters -match '"') { throw "NSSM cannot be given an argument with spaces: $parameters. Choose paths without spaces" }
    $log = Join-Path $LogDir "$name.log"
    $values = @(
        @('Application', $program), @('AppDirectory', $folder), @('AppParameters', $parameters),
        @('DisplayName', $Service.Display), @('ObjectName', 'LocalSystem'), @('Start', 'SERVICE_DELAYED_AUTO_START'),
        @('AppStdout', $log), @('AppStderr', $log),
        @('AppRotateFiles', '1'), @('AppRotateOnline', '1'), @('AppRotateBytes', '10485760'),
        @('AppExit', 'Default', 'Restart'), @('AppRestartDelay', '5000'), @('AppThrottle', '5000'),
        # Ctrl-C first; Fairlead then ends in order.
        @('AppStopMethodConsole', '15000')
    )
    Invoke-Step "set up $name with NSSM" {
        foreach ($value in $values) { Invoke-Program $Settings.Nssm (@('set', $name) + $value) }
        $environment = @(Get-Environment $Settings)
        if ($environment.Count -gt 0) { Invoke-Program $Settings.Nssm (@('set', $name, 'AppEnvironmentExtra') + $environment) }
        else { Invoke-Program $Settings.Nssm @('reset', $name, 'AppEnvironmentExtra') }
        if ($Service.DependsOn.Count -gt 0) {
            Invoke-Program $Settings.Nssm (@('set', $name, 'DependOnService') + $Service.DependsOn)
        }
    }
}

function Set-Services {
    param($Settings, [string]$Version)
    foreach ($service in @(Get-ServicePlan $Settings)) {
        if ($Settings.As -eq 'Nssm') { Set-NssmService $Settings $service $Version }
        else { Set-NativeService $Settings $service $Version }
    }
}

# Does not wait: Fairlead may still be waiting for the network of the pods, and Wait-Healthy has a limit.
function Start-Services {
    param($Settings)
    foreach ($service in @(Get-ServicePlan $Settings)) {
        $name = $service.Name
        $found = Get-ServiceOrNull $name
        if ($null -ne $found -and $found.Status -eq 'Running') { continue }
        Invoke-Step "start $name" {
            try { (Get-Service -Name $name).Start() }
            catch { Write-Warning "$name does not start: $($_.Exception.GetBaseException().Message)" }
        }
    }
}

# The other way round: the backend before the core.
function Stop-Services {
    param($Settings)
    $plan = @(Get-ServicePlan $Settings)
    [array]::Reverse($plan)
    foreach ($service in $plan) {
        $name = $service.Name
        $found = Get-ServiceOrNull $name
        if ($null -eq $found -or $found.Status -eq 'Stopped') { continue }
        Invoke-Step "stop $name" {
            try {
                Stop-Service -Name $name -Force
                (Get-Service -Name $name).WaitForStatus('Stopped', [TimeSpan]::FromSeconds(60))
            }
            catch { Stop-ServiceProcess $name }
        }
    }
}

# A service that still starts cannot be asked to stop. Disabled, so that Windows does not start it again at once.
function Stop-ServiceProcess {
    param([string]$Name)
    Invoke-Program 'sc.exe' @('config', $Name, 'start=', 'disabled') | Out-Null
    $id = [int](Get-ServiceConfig $Name).ProcessId
    if ($id -gt 0) { Stop-Process -Id $id -Force }
    (Get-Service -Name $Name).WaitForStatus('Stopped', [TimeSpan]::FromSeconds(60))
}

function Remove-Services {
    param($Settings)
    $plan = @(Get-ServicePlan $Settings)
    [array]::Reverse($plan)
    foreach ($service in $plan) {
        $name = $service.Name
        if ($null -eq (Get-ServiceOrNull $name)) { continue }
        Invoke-Step "delete the service $name" { Invoke-Program 'sc.exe' @('delete', $name) }
    }
}

# ---------------------------------------------------------------- kube-proxy

# Whether there is one to replace; an error if it may not, or cannot be, replaced.
function Test-KubeProxy {
    $config = Get-ServiceConfig 'kube-proxy'
    if ($null -eq $config -or ($config.State -eq 'Stopped' -and $config.StartMode -eq 'Disabled')) { return $false }
    if (-not $ReplaceKubeProxy) {
        throw 'There is a service kube-proxy, and two proxies would undo what the other does: add -ReplaceKubeProxy, or remove it'
    }
    $dependents = @((Get-Service -Name 'kube-proxy').DependentServices | ForEach-Object { $_.Name })
    if ($dependents.Count -gt 0) {
        throw "These services depend on kube-proxy and would not start any more: $($dependents -join ', '). Take that dependency away first"
    }
    return $true
}

function Disable-KubeProxy {
    Invoke-Step 'stop and disable the service kube-proxy' {
        Stop-Service -Name 'kube-proxy' -Force
        Set-Service -Name 'kube-proxy' -StartupType Disabled
    }
}

function Restore-KubeProxy {
    param($Settings)
    if ($null -eq (Get-ServiceOrNull 'kube-proxy')) { throw 'There is no service kube-proxy to go back to' }
    $start = 'Automatic'
    if ($Settings.KubeProxyStart -eq 'Manual') { $start = 'Manual' }
    Invoke-Step 'enable and start the service kube-proxy' {
        Set-Service -Name 'kube-proxy' -StartupType $start
        Start-Service -Name 'kube-proxy'
    }
}

# ---------------------------------------------------------------- firewall

function Set-Firewall {
    param($Settings, [string]$Version)
    $program = Join-Path (Get-VersionFolder $Version) 'node.exe'
    Invoke-Step "let others reach the health port, health checks of Services$(if ($Settings.Mode -eq 'userspace') { ', and Services' })" {
        Remove-Firewall
        $common = @{ Group = $FirewallGroup; Direction = 'Inbound'; Action = 'Allow'; Program = $program }
        if ($Settings.Mode -eq 'userspace') {
            New-NetFirewallRule @common -Name 'fairlead-tcp' -DisplayName 'Fairlead: Services (TCP)' -Protocol TCP
            New-NetFirewallRule @common -Name 'fairlead-udp' -DisplayName 'Fairlead: Services (UDP)' -Protocol UDP
        }
        else {
            New-NetFirewallRule @common -Name 'fairlead-health' -DisplayName 'Fairlead: health checks' -Protocol TCP `
                -LocalPort @("$($Settings.HealthPort)", '30000-32767')
        }
    }
}

function Remove-Firewall {
    Get-NetFirewallRule -Group $FirewallGroup -ErrorAction SilentlyContinue | Remove-NetFirewallRule
}

# ---------------------------------------------------------------- actions

function Assert-Node {
    param($Settings)
    $build = [System.Environment]::OSVersion.Version.Build
    if ($build -lt 17763) { throw "This is build $build of Windows. Fairlead needs Windows Server 2019 (build 17763) or newer" }
    if ($Settings.Mode -eq 'kernelspace' -and $null -eq (Get-ServiceOrNull 'hns')) {
        throw 'There is no service hns: install the feature Containers (Install-WindowsFeature Containers) and restart'
    }
    foreach ($file in $Settings.Config, $Settings.Kubeconfig) {
        if ($file -ne '' -and -not (Test-Path -LiteralPath $file)) { throw "There is no file $file" }
    }
    if ($Settings.As -eq 'Nssm' -and $null -eq (Get-Command $Settings.Nssm -ErrorAction SilentlyContinue)) {
        throw "There is no $($Settings.Nssm): give its path with -Nssm"
    }
}

function Install-Fairlead {
    $settings = New-Settings
    $before = Read-Settings
    if ($null -ne $before) {
        if ($before.As -ne $settings.As) {
            throw "Fairlead is installed as $($before.As): remove it first, or install it with -As $($before.As)"
        }
        $settings.KubeProxyStart = $before.KubeProxyStart
    }
    $version = Get-PackageVersion
    if ($null -ne $before -and $before.Version -ne $version) {
        throw "Fairlead $($before.Version) is installed: use Upgrade to get $version"
    }
    Assert-Node $settings
    $hasKubeProxy = Test-KubeProxy
    if ($hasKubeProxy) { $settings.KubeProxyStart = [string](Get-ServiceConfig 'kube-proxy').StartMode }
    Copy-Package $version
    Initialize-StateDir
    $settings.Version = $version
    $lines = @(Get-ServicePlan $settings | ForEach-Object { $_.Arguments -join ' ' }) -join '; '
    $linesBefore = ''
    if ($null -ne $before) { $linesBefore = @(Get-ServicePlan $before | ForEach-Object { $_.Arguments -join ' ' }) -join '; ' }
    $isSame = $null -ne $before -and $lines -ceq $linesBefore -and $before.ServiceInterface -ceq $settings.ServiceInterface
    if (-not $isSame) { Stop-Services $settings }
    Set-Services $settings $version
    Set-Firewall $settings $version
    Save-Settings $settings
    # As late as possible: until here, everything that fails leaves the node as it was.
    if ($hasKubeProxy) { Disable-KubeProxy }
    Start-Services $settings
    if ($WhatIfPreference) { return }
    Confirm-Healthy $settings "Fairlead $version is installed, but it is not healthy"
    Write-Host "Fairlead $version runs on this node, in $($settings.Mode) mode."
}

function Confirm-Healthy {
    param($Settings, [string]$Complaint)
    if (Wait-Healthy $Settings) { return }
    Write-LogTail
    throw "$Complaint. Look at the log above, at http://127.0.0.1:$($Settings.HealthPort)/healthz?verbose, and at docs/windows.md (Troubleshooting). To give up: fairlead.ps1 Remove, with -RestoreKubeProxy to go back to kube-proxy"
}

function Update-Fairlead {
    $settings = Read-Settings
    if ($null -eq $settings) { throw "Fairlead is not installed here ($SettingsFile is missing): use Install" }
    $old = $settings.Version
    $new = Get-PackageVersion
    if ($new -eq $old) {
        Write-Host "Fairlead $new is installed already. To change settings, use Install."
        return
    }
    Assert-Node $settings
    Copy-Package $new
    $isHealthy = $false
    try {
        Switch-Version $settings $new
        if ($WhatIfPreference) { return }
        $isHealthy = Wait-Healthy $settings
    }
    catch { Write-Warning $_.Exception.Message }
    if ($isHealthy) {
        $settings.Version = $new
        Save-Settings $settings
        Remove-OtherVersions @($old, $new)
        Write-Host "Fairlead $new runs in the place of $old. The files of $old stay until the next upgrade."
        return
    }
    Write-LogTail
    Write-Warning "Fairlead $new did not become healthy within $WaitSeconds s: going back to $old"
    Switch-Version $settings $old
    if (-not (Wait-Healthy $settings)) {
        Write-LogTail
        throw "Neither $new nor $old becomes healthy, so the cause is not the version. Rules that HNS has stay in use meanwhile"
    }
    throw "The upgrade to $new failed, and $old runs again. Its log is above and in $LogDir"
}

# HNS keeps forwarding while no Fairlead runs, so the gap costs no connection in kernelspace mode.
function Switch-Version {
    param($Settings, [string]$Version)
    Stop-Services $Settings
    Set-Services $Settings $Version
    Set-Firewall $Settings $Version
    Start-Services $Settings
}

function Remove-Fairlead {
    $settings = Read-Settings
    if ($null -eq $settings) {
        Write-Host "Fairlead is not installed here ($SettingsFile is missing)."
        return
    }
    Stop-Services $settings
    $folder = Get-VersionFolder $settings.Version
    $problem = ''
    if ($PSCmdlet.ShouldProcess($env:COMPUTERNAME, 'remove what Fairlead programmed (fairlead --cleanup)')) {
        try {
            $words = @((Join-Path $folder 'bin\fairlead.js')) + @(Get-CleanupArguments)
            Invoke-Program (Join-Path $folder 'node.exe') $words | ForEach-Object { Write-Host "  $_" }
        }
        catch { $problem = $_.Exception.Message }
    }
    if ($problem -ne '') {
        throw "Not everything could be removed, so the files of Fairlead stay, to try again: $problem"
    }
    Remove-Services $settings
    Invoke-Step 'remove the firewall rules' { Remove-Firewall }
    Invoke-Step "remove $Root" {
        Remove-Item -LiteralPath $Root -Recurse -Force -ErrorAction SilentlyContinue
        if (Test-Path -LiteralPath $Root) { Write-Warning "Something in $Root is in use: remove it after a restart" }
    }
    if ($RestoreKubeProxy) { Restore-KubeProxy $settings }
    if ($Purge) { Invoke-Step "remove $StateDir" { Remove-Item -LiteralPath $StateDir -Recurse -Force } }
    else { Invoke-Step "forget the settings" { Remove-Item -LiteralPath $SettingsFile -Force } }
    if (-not $WhatIfPreference) { Write-Host 'Fairlead is removed.' }
}

function Show-Status {
    $settings = Read-Settings
    if ($null -eq $settings) {
        Write-Host 'Fairlead is not installed here.'
        return
    }
    Write-Host "Fairlead $($settings.Version), $($settings.Mode) mode, as $($settings.As)"
    foreach ($service in @(Get-ServicePlan $settings)) {
        $found = Get-ServiceOrNull $service.Name
        $state = 'missing'
        if ($null -ne $found) { $state = "$($found.Status)" }
        Write-Host "  service $($service.Name): $state"
    }
    $health = 'not healthy'
    if (Test-Healthy $settings) { $health = 'healthy' }
    Write-Host "  http://127.0.0.1:$($settings.HealthPort)/livez: $health"
    Write-Host "  logs: $LogDir"
}

try {
    switch ($Action) {
        'Install' { Install-Fairlead }
        'Upgrade' { Update-Fairlead }
        'Remove' { Remove-Fairlead }
        'Status' { Show-Status }
    }
}
catch {
    Write-Host "Error: $($_.Exception.Message)" -ForegroundColor Red
    exit 1
}
exit 0
