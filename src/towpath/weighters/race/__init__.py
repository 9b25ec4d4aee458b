"""A race: several weighters train side by side for a while, and trusted tasks choose one."""
