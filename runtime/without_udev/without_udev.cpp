// The functions of libudev that hwloc's archive asks for, with the answer "there is no udev here". hwloc asks
// it only for the models of disks, which nobody here wants to know; libudev has no archive.

extern "C" {

struct udev;
struct udev_device;

udev* udev_new() {
    return nullptr;
}

udev* udev_unref(udev*) {
    return nullptr;
}

udev_device* udev_device_new_from_subsystem_sysname(udev*, const char*, const char*) {
    return nullptr;
}

const char* udev_device_get_property_value(udev_device*, const char*) {
    return nullptr;
}

udev_device* udev_device_unref(udev_device*) {
    return nullptr;
}

}  // extern "C"
