"""The same properties of the same VMs through pyvmomi, page by page: address as host:port, user; the password is in the environment."""

import json
import os
import ssl
import sys
import time

from pyVim.connect import Disconnect, SmartConnect
from pyVmomi import vim, vmodl

host, port = sys.argv[1].rsplit(":", 1)
paths, page = sys.argv[3].split(","), int(sys.argv[4])


def peak():
    # Not getrusage: that has the peak of whoever started it, too.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
si = SmartConnect(host=host, port=int(port), user=sys.argv[2], pwd=os.environ["VC_PASSWORD"], sslContext=context)
cpu = time.process_time()
start = time.perf_counter()
content = si.RetrieveContent()
view = content.viewManager.CreateContainerView(content.rootFolder, [vim.VirtualMachine], True)
collector = vmodl.query.PropertyCollector
spec = collector.FilterSpec(
    objectSet=[
        collector.ObjectSpec(
            obj=view,
            skip=True,
            selectSet=[collector.TraversalSpec(type=vim.view.ContainerView, path="view", skip=False)],
        )
    ],
    propSet=[collector.PropertySpec(type=vim.VirtualMachine, pathSet=paths)],
)
found = 0
result = content.propertyCollector.RetrievePropertiesEx([spec], collector.RetrieveOptions(maxObjects=page))
while result is not None:
    for one in result.objects:
        # As ours does: every value is looked at.
        values = {prop.name: prop.val for prop in one.propSet}
        found += 1 if values else 0
    if result.token is None:
        break
    result = content.propertyCollector.ContinueRetrievePropertiesEx(result.token)
seconds = time.perf_counter() - start
print(
    json.dumps(
        {
            "vms": found,
            "seconds": seconds,
            "cpuSeconds": time.process_time() - cpu,
            "peakMiB": peak(),
        }
    )
)
Disconnect(si)
